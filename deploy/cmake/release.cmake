# Initial cache for releases: cmake -C deploy/cmake/release.cmake -S . -B build
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")

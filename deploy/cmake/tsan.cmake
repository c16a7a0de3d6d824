# Initial cache for the thread sanitizer.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-O1" CACHE STRING "")
set(INFERD_SANITIZERS "thread" CACHE STRING "")

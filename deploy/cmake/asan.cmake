# Initial cache for address and undefined-behaviour sanitizers.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-O1" CACHE STRING "")
set(INFERD_SANITIZERS "address,undefined" CACHE STRING "")

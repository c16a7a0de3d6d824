# Flags of all our code, and the functions by which each folder declares its library, programs and tests.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Checkouts side by side share what they compile; precompiled headers are cached, too.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-fpch-preprocess)
  endif()
endif()

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)

# Rounding is part of the product: no contraction of a * b + c unless fma() is written.
add_library(inferd_flags INTERFACE)
target_compile_options(inferd_flags INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers -ffp-contract=off
                                              -fno-math-errno -fstack-protector-strong -fvisibility=hidden)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(inferd_flags INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
target_include_directories(inferd_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(INFERD_SANITIZERS)
  target_compile_options(inferd_flags INTERFACE -fsanitize=${INFERD_SANITIZERS} -fno-omit-frame-pointer -g1)
  target_link_options(inferd_flags INTERFACE -fsanitize=${INFERD_SANITIZERS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # What this check writes before a function, Clang 14 cannot write before the parts of a coroutine.
    target_compile_options(inferd_flags INTERFACE -fno-sanitize=function)
  endif()
endif()

# Fuzzers steer by the coverage of the code they call: all of it is instrumented in such a build.
if(INFERD_FUZZERS)
  target_compile_options(inferd_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(inferd_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM AND NOT INFERD_SANITIZERS)
  add_link_options(-fuse-ld=lld)
endif()

# inferd_library(name SOURCES a.cc b.cc DEPS other_lib ...)
function(inferd_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC inferd_flags ${ARG_DEPS})
endfunction()

# inferd_program(name SOURCES main.cc DEPS ...): built into BUILD/bin, installed to bin
function(inferd_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE inferd_flags ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# inferd_test(name SOURCES a_test.cc b_test.cc DEPS ...): one GoogleTest program, one ctest entry
function(inferd_test name)
  if(NOT INFERD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE inferd_flags ${ARG_DEPS} inferd_source_folder GTest::gmock GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# inferd_fuzzer(name SOURCES a_fuzz.cc DEPS ...): a libFuzzer program, only with -DINFERD_FUZZERS=ON (Clang)
function(inferd_fuzzer name)
  if(NOT INFERD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE inferd_flags ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
endfunction()

# chalk_test_properties(TEST TIMEOUT seconds [SHARES thing]): what every test of ours has: a deadline, a skip code, and its
# place between the two halves of the leftover check (tests/leftovers), which ctest runs first and last. Tests that share a
# thing do not run at the same time; without SHARES it is the machine, whose processes, cgroups and mounts they look at.
function(chalk_test_properties test)
  cmake_parse_arguments(arg "" "TIMEOUT;SHARES" "" ${ARGN})
  if(NOT arg_SHARES)
    set(arg_SHARES machine)
  endif()
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 FIXTURES_REQUIRED machine RESOURCE_LOCK ${arg_SHARES})
endfunction()

# chalk_build_whole(TARGET): with CHALK_WHOLE_BUILD its sources are compiled in batches, which halves the time of a build
# from nothing and is a waste when one file changes. Tests stay apart: each has its own short names.
function(chalk_build_whole target)
  if(CHALK_WHOLE_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# All fuzz targets of all components.
add_custom_target(fuzz_targets)

# chalk_add_component(NAME [DEPENDS target...] [PRECOMPILE header...] [TEST_DEPENDS target...] [TEST_SHARES thing])
#
# A component is a top-level folder. Every *.cpp below it goes into the static library chalk_NAME, every
# *.test.cpp into the executable chalk_NAME_tests, which ctest runs as NAME, and with CHALK_FUZZING every X.fuzz.cpp
# becomes chalk_X_fuzz. A subfolder that holds a program of its own (with its own CMakeLists.txt) is left out.
function(chalk_add_component name)
  cmake_parse_arguments(arg "" "TEST_SHARES" "DEPENDS;PRECOMPILE;TEST_DEPENDS" ${ARGN})

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "*.cpp")
  file(GLOB_RECURSE programs CONFIGURE_DEPENDS "*/CMakeLists.txt")
  foreach(program IN LISTS programs)
    get_filename_component(folder "${program}" DIRECTORY)
    if(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
      list(FILTER sources EXCLUDE REGEX "^${folder}/")
    endif()
  endforeach()
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER fuzzers INCLUDE REGEX "\\.fuzz\\.cpp$")
  list(FILTER tests INCLUDE REGEX "\\.test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "\\.(test|fuzz)\\.cpp$")

  add_library(chalk_${name} STATIC ${sources})
  target_include_directories(chalk_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(chalk_${name} PUBLIC chalk_settings ${arg_DEPENDS})
  if(arg_PRECOMPILE)
    target_precompile_headers(chalk_${name} PRIVATE ${arg_PRECOMPILE})
  endif()
  chalk_build_whole(chalk_${name})

  if(tests AND CHALK_TESTS)
    add_executable(chalk_${name}_tests ${tests})
    target_link_libraries(chalk_${name}_tests PRIVATE chalk_${name} chalk_test_support ${arg_TEST_DEPENDS})
    # Beside chalk's helper programs, which are looked for next to the running executable.
    set_target_properties(chalk_${name}_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    if(arg_PRECOMPILE)
      target_precompile_headers(chalk_${name}_tests PRIVATE ${arg_PRECOMPILE} "<tests/support/catch.hpp>")
    endif()
    add_test(NAME ${name} COMMAND chalk_${name}_tests)
    chalk_test_properties(${name} TIMEOUT 600 SHARES ${arg_TEST_SHARES})
  endif()

  if(fuzzers AND CHALK_FUZZING)
    target_compile_options(chalk_${name} PRIVATE -fsanitize=fuzzer-no-link)
    foreach(source IN LISTS fuzzers)
      get_filename_component(stem "${source}" NAME_WE)
      add_executable(chalk_${stem}_fuzz "${source}")
      target_link_libraries(chalk_${stem}_fuzz PRIVATE chalk_${name})
      target_link_options(chalk_${stem}_fuzz PRIVATE -fsanitize=fuzzer)
      add_dependencies(fuzz_targets chalk_${stem}_fuzz)
    endforeach()
  endif()
endfunction()

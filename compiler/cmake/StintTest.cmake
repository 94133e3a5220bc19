# stint_add_unittest(NAME SOURCES… [LIBS libraries…])
#
# A GoogleTest binary, registered with ctest under its own name. Libraries
# other than GoogleTest come after LIBS.
function(stint_add_unittest name)
  if(NOT STINT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unittest)
endfunction()

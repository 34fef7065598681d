# Helpers for the project's own targets. Warnings are errors on our code; LLVM's headers are system headers.

set(TILELOOM_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)

# tileloom_add_library(NAME sources... [DEPENDS targets...] [LINK libraries...])
# A static library. MLIR and LLVM themselves are linked once, by the final tool or shared library.
function(tileloom_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${TILELOOM_WARNINGS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_LINK)
    target_link_libraries(${name} PUBLIC ${ARG_LINK})
  endif()
endfunction()

# tileloom_add_tool(NAME sources... [LINK libraries...]) - linked against the shared libMLIR and libLLVM.
function(tileloom_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${TILELOOM_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# tileloom_add_unit_test(NAME sources... [LINK libraries...]) - a GoogleTest program run by ctest and by lit.
function(tileloom_add_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${TILELOOM_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/unit)
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY TILELOOM_UNIT_TESTS ${name})
endfunction()

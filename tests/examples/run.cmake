# Runs one example in an empty folder and compares what it prints:
#   cmake -DPROGRAM=.. -DEXPECTED=.. -DFOLDER=.. -P run.cmake
# EXPECTED is the exact text (.txt), or a regular expression for all of it (.regex). The exit status must be 0 and
# stderr empty.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status OUTPUT_VARIABLE out
                ERROR_VARIABLE err)
file(READ ${EXPECTED} expected)
if(EXPECTED MATCHES "\\.regex$")
  string(REGEX MATCH "^${expected}$" same "${out}")
  string(COMPARE EQUAL "${same}" "${out}" same)
else()
  string(COMPARE EQUAL "${out}" "${expected}" same)
endif()
if(NOT status EQUAL 0 OR NOT err STREQUAL "" OR NOT same)
  message(FATAL_ERROR "${PROGRAM}\nexit status ${status}, expected 0\nstderr (expected nothing):\n${err}\n"
                      "stdout:\n${out}\nexpected (${EXPECTED}):\n${expected}")
endif()

# Runs one example in an empty folder and compares what it prints:
#   cmake -DPROGRAM=.. -DEXPECTED=.. -DFOLDER=.. -P run.cmake
# EXPECTED is the exact text (.txt), or a regular expression for all of it (.regex). The exit status must be 0. stderr
# must be empty, or match all of the file beside EXPECTED that ends in .stderr, a regular expression. The file that ends
# in .env holds lines NAME=VALUE for its environment; without one it sees no GPU.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
string(REGEX REPLACE "\\.[a-z]+$" "" stem ${EXPECTED})
unset(ENV{TENON_FAKE_GPUS})
if(EXISTS ${stem}.env)
  unset(ENV{CUDA_VISIBLE_DEVICES})
  file(STRINGS ${stem}.env variables)
  foreach(variable IN LISTS variables)
    string(REGEX MATCH "^([A-Z_]+)=(.*)$" all "${variable}")
    set(ENV{${CMAKE_MATCH_1}} "${CMAKE_MATCH_2}")
  endforeach()
else()
  set(ENV{CUDA_VISIBLE_DEVICES} "-1")
endif()
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status OUTPUT_VARIABLE out
                ERROR_VARIABLE err)

# matches(RESULT TEXT REGEX): all of the text does
function(matches result text regex)
  string(REGEX MATCH "^${regex}$" all "${text}")
  string(COMPARE EQUAL "${all}" "${text}" same)
  set(${result} ${same} PARENT_SCOPE)
endfunction()

file(READ ${EXPECTED} expected)
if(EXPECTED MATCHES "\\.regex$")
  matches(same "${out}" "${expected}")
else()
  string(COMPARE EQUAL "${out}" "${expected}" same)
endif()
set(complaint "nothing")
set(same_err FALSE)
if(EXISTS ${stem}.stderr)
  file(READ ${stem}.stderr complaint)
  matches(same_err "${err}" "${complaint}")
elseif(err STREQUAL "")
  set(same_err TRUE)
endif()
if(NOT status EQUAL 0 OR NOT same_err OR NOT same)
  message(FATAL_ERROR "${PROGRAM}\nexit status ${status}, expected 0\nstderr (expected ${complaint}):\n${err}\n"
                      "stdout:\n${out}\nexpected (${EXPECTED}):\n${expected}")
endif()

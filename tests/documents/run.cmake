# Runs the C twin of one block, in an empty folder, and compares what it prints:
#   cmake -DPROGRAM=.. -DEXPECTED=.. -DFOLDER=.. -DGPUS=.. -DVISIBLE=.. -DSMI=.. -P run.cmake
# GPUS: how many fake ones there are; 0: no GPU at all. VISIBLE: CUDA_VISIBLE_DEVICES, where it is
# not empty. SMI: the folder of what answers as nvidia-smi; it is put first in PATH. The exit status must be 0, stderr empty. EXPECTED is the text, in which these stand for what differs from run to
# run (run.py reads the same):
#   {random}   a number       {name}   of a GPU      {version}, {date}   of the library or the driver; today
#   {no GPU}   why there is none: the machine has no driver, or all GPUs are hidden
#   #1         behind 'id: ': the identity that was printed first; #2: the next other one
#   a line of two blanks and three dots: the help that Tenon adds to a message, one line or more that begin with two blanks
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
unset(ENV{CUDA_VISIBLE_DEVICES})
unset(ENV{TENON_FAKE_GPUS})
if(GPUS EQUAL 0)
  set(ENV{CUDA_VISIBLE_DEVICES} "-1")
else()
  set(ENV{TENON_FAKE_GPUS} ${GPUS})
endif()
if(VISIBLE)
  set(ENV{CUDA_VISIBLE_DEVICES} ${VISIBLE})
endif()
set(ENV{PATH} "${SMI}:$ENV{PATH}")
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status OUTPUT_VARIABLE out
                ERROR_VARIABLE err)

set(got "${out}")
set(n 0)
while(got MATCHES "id: ([0-9]+)\n")
  math(EXPR n "${n} + 1")
  string(REPLACE "id: ${CMAKE_MATCH_1}\n" "id: #${n}\n" got "${got}")
endwhile()

file(READ ${EXPECTED} expected)
string(REGEX REPLACE "([][+.*()^$?|\\\\])" "\\\\\\1" pattern "${expected}")
string(REPLACE "  \\.\\.\\.\n" "(  [^\n]*\n)+" pattern "${pattern}")
string(REPLACE "{random}" " *-?[0-9][-+.0-9e]*" pattern "${pattern}")
string(REPLACE "{version}" "[0-9][^\n]*" pattern "${pattern}")
string(REPLACE "{no GPU}" "(Found no NVIDIA driver on your system[^\n]*|No CUDA GPUs are available)" pattern "${pattern}")
string(REGEX REPLACE "{(name|date)}" "[^\n]+" pattern "${pattern}")

string(REGEX MATCH "^printed:${pattern}$" all "printed:${got}") # a match may not be empty
string(COMPARE EQUAL "${all}" "printed:${got}" same)
if(NOT status EQUAL 0 OR NOT err STREQUAL "" OR NOT same)
  message(FATAL_ERROR "${PROGRAM}\nexit status ${status}, expected 0\nstderr (expected nothing):\n${err}\n"
                      "stdout:\n${out}\nexpected (${EXPECTED}):\n${expected}")
endif()

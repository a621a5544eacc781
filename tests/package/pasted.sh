#!/bin/sh
# What a reader of a document pastes into a terminal.   tests/package/pasted.sh DOCUMENT FIRST-HEADING LAST-HEADING
# Prints a script of all blocks from one heading to the other, in order: a block of C or CMake becomes the file that the text above
# it names last (`hello.c`), commands (sh blocks, and lines that begin with four blanks) stay as they are. What they are
# to print, suite docs compares.
exec awk -v first="$2" -v last="$3" '
    $0 == first {inside = 1}
    $0 == last {inside = 0}
    !inside {next}
    /^```(c|cmake)$/ {
        folder = name
        if (sub("/[^/]*$", "", folder)) print "mkdir -p " folder
        print "cat >" name " <<\"END_OF_FILE\""
        kind = "file"
        next
    }
    /^```sh$/ {kind = "sh"; next}
    /^```[a-z]/ {kind = "other"; next}
    /^```$/ {if (kind == "file") print "END_OF_FILE"; kind = ""; next}
    kind == "file" || kind == "sh" {print; next}
    kind == "other" {next}
    /^    / {print substr($0, 5); next}
    {while (match($0, "`[A-Za-z_/-]*(CMakeLists[.]txt|[.]c)`")) {
        name = substr($0, RSTART + 1, RLENGTH - 2)
        $0 = substr($0, RSTART + RLENGTH)
    }}' "$1"

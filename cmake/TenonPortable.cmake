# Programs for other machines than this one (option TENON_PORTABLE, for scripts/wheel): they start with every glibc from 2.28 on,
# whichever they were linked with, and carry libpng.
#
# A linker takes the newest version of each symbol. Between 2.28 and 2.36 glibc made new versions of those below, mostly by moving
# what was in libpthread and libdl into libc; the older ones are still there and do the same. So each call of NAME goes to
# __wrap_NAME (the linker's --wrap), a jump to the older NAME. No object is compiled otherwise than without the option.
#
# Glibc 2.38 added readers of numbers that also know C23's binary ones (0b101), and its headers name those (__isoc23_strtol):
# such calls go to the readers without, as wherever else the library is built.
#
# One does not do the same: __libc_start_main, which programs call before main. Since 2.34 it runs a program's constructors itself;
# before, start files passed it a function that did. Linked with the newer start files, which pass none, and started by an older
# glibc, a program's own constructors (.init_array) do not run; by a newer one they do. Those of libraries always run. So a program
# that passes tenon_portable (the command 'tenon' is the only one) must have no constructors of its own.

set(tenon_older) # NAME=VERSION, or NAME=OLDER NAME=VERSION
foreach(name IN ITEMS exp exp2 log log2 pow hypot hypotf pthread_sigmask pthread_create pthread_detach pthread_join pthread_once
                      pthread_key_create pthread_key_delete pthread_getspecific pthread_setspecific pthread_mutex_trylock dlopen
                      dlclose dlsym dlerror dladdr __libc_start_main)
  list(APPEND tenon_older ${name}=GLIBC_2.2.5)
endforeach()
list(APPEND tenon_older pthread_timedjoin_np=GLIBC_2.3.3 dladdr1=GLIBC_2.3.3 dlinfo=GLIBC_2.3.3 pthread_setaffinity_np=GLIBC_2.3.4)
foreach(name IN ITEMS strtol strtoll strtoul strtoull)
  list(APPEND tenon_older __isoc23_${name}=${name}=GLIBC_2.2.5)
endforeach()
list(APPEND tenon_older __isoc23_sscanf=__isoc99_sscanf=GLIBC_2.7)
# Functions with another name and the layout's number before the others, which glibc itself put between until 2.33.
set(tenon_older_stat stat=__xstat=GLIBC_2.2.5 fstat=__fxstat=GLIBC_2.2.5 lstat=__lxstat=GLIBC_2.2.5 fstatat=__fxstatat=GLIBC_2.4)

# One source a function: a library takes from the archive those that it calls.
function(tenon_make_older)
  set(sources)
  foreach(entry IN LISTS tenon_older tenon_older_stat)
    string(REPLACE "=" ";" entry "${entry}")
    list(POP_FRONT entry name)
    list(POP_BACK entry version)
    set(before "")
    set(older ${name})
    if(entry)
      set(older ${entry})
    endif()
    if(entry MATCHES "xstat") # its arguments move on by one, in the registers of the calling convention
      set(before "mov %rcx,%r8; mov %rdx,%rcx; mov %rsi,%rdx; mov %rdi,%rsi; mov $1,%edi; ")
    endif()
    set(file ${PROJECT_BINARY_DIR}/older/${name}.c)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "__asm__(\".symver tn__older, ${older}@${version}\\n\"
        \".text; .globl __wrap_${name}; .hidden __wrap_${name}; .type __wrap_${name},@function\\n\"
        \"__wrap_${name}: .cfi_startproc; endbr64; ${before}jmp *tn__older@GOTPCREL(%rip); .cfi_endproc\\n\"
        \".size __wrap_${name},.-__wrap_${name}\");\n")
    list(APPEND sources ${file})
  endforeach()
  add_library(tenon_older STATIC ${sources})
endfunction()

# tenon_portable TARGET: what is linked of it runs with the older glibc
function(tenon_portable target)
  if(NOT TENON_PORTABLE)
    return()
  endif()
  if(NOT TARGET tenon_older)
    tenon_make_older()
  endif()
  set(wraps)
  foreach(entry IN LISTS tenon_older tenon_older_stat)
    string(REGEX REPLACE "=.*" "" name "${entry}")
    list(APPEND wraps LINKER:--wrap=${name})
  endforeach()
  target_link_options(${target} PRIVATE ${wraps} LINKER:--no-eh-frame-hdr
                                        LINKER:-T,${CMAKE_CURRENT_FUNCTION_LIST_DIR}/no_unwind.ld)
  # the two libraries are where the older glibc has the functions, and empty in a newer one
  target_link_libraries(${target} PRIVATE tenon_older -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2
                                          -Wl,--pop-state)
endfunction()

if(TENON_PORTABLE AND NOT (CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64"))
  message(FATAL_ERROR "TENON_PORTABLE knows the older symbols of Linux on x86-64 alone")
endif()

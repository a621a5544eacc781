# Completion of the command 'tenon' for bash. The table is made from those that 'tenon COMMAND --help' is printed from:
# the command; an option, or which argument; what is said there; the words that may be said, or what file names end with.
_tenon_table='
@TABLE@
'

# _tenon_known COMMAND WHAT: what is said there, a line 'KIND WORDS' for each possibility
_tenon_known() {
    local command what said
    while read -r command what said; do
        [[ $command == "$1" && $what == "$2" ]] && printf '%s\n' "$said"
    done <<<"$_tenon_table"
}

# _tenon_names [COMMAND]: every command, or every option of one
_tenon_names() {
    local command what said before=''
    while read -r command what said; do
        if [[ -z ${1-} ]]; then
            [[ $command == "$before" ]] || printf '%s\n' "$command"
        elif [[ $command == "$1" && $what == -* ]]; then
            printf '%s\n' "$what"
        fi
        before=$command
    done <<<"$_tenon_table"
}

_tenon_add() { # COMPGEN'S ARGUMENTS...
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@")
}

# _tenon_value COMMAND WHAT TEXT: what the text may become there; any file's name only where a file is meant
_tenon_value() {
    local kind='' words list='' files=no
    while read -r kind words; do
        case $kind in
        words) # of a list, what is behind the last comma
            [[ $3 != *,* ]] || list=${3%,*},
            _tenon_add -P "$list" -W "$words" -- "${3##*,}"
            ;;
        folder) compopt -o dirnames ;;
        file)
            files=yes
            compopt -o filenames
            [[ -z $words ]] || _tenon_add -f -X "!*$words" -- "$3"
            ;;
        esac
    done < <(_tenon_known "$1" "$2")
    if [[ $files == no ]]; then
        compopt +o default +o bashdefault
    elif [[ $2 != -* ]]; then
        _tenon_add -d -- "$3"
    fi
}

_tenon() {
    local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} command='' option='' place=1 text word
    local -a words=()
    COMPREPLY=()
    # shellcheck disable=SC2162 # a backslash makes a blank part of a name here, too
    read -a words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=('')
    text=${words[-1]}
    for word in "${words[@]:1:${#words[@]}-2}"; do
        if [[ -z $command ]]; then
            command=$word
        elif [[ -n $option ]]; then
            option=''
        elif [[ $word != -* ]]; then
            place=$((place + 1))
        elif [[ $word != *=* && $(_tenon_known "$command" "$word") != none ]]; then
            option=$word
        fi
    done
    if [[ -z $command ]]; then
        compopt +o default +o bashdefault
        word=$(_tenon_names)
        [[ $text != -* ]] || word='--help --version'
        _tenon_add -W "$word" -- "$text"
    elif [[ -n $option ]]; then
        _tenon_value "$command" "$option" "$text"
    elif [[ $text == --*=* ]]; then
        text=${text#"${option:=${text%%=*}}"=}
        _tenon_value "$command" "$option" "$text"
    elif [[ $text == -* ]]; then
        compopt +o default +o bashdefault
        _tenon_add -W "$(_tenon_names "$command")" -- "$text"
    else
        _tenon_value "$command" "$place" "$text"
    fi
    # bash replaces what is behind the last of its breaks, of which ':' is one
    if [[ $text == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${text%"${text##*:}"}"}")
    fi
}

complete -o bashdefault -o default -F _tenon tenon

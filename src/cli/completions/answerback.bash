
# What is open changes from moment to moment, so the program is asked for it. If the place in the line is not for an open question, its exit
# status says so, and the completion above does the rest.
_answerback_open() {
    local reply candidate
    reply=$(
        command answerback completions bash -- "$COMP_TYPE" "${COLUMNS:-80}" "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null
    ) || {
        _answerback "$@"
        return
    }
    COMPREPLY=()
    while IFS= read -r candidate; do
        [[ -z $candidate ]] || COMPREPLY+=("$candidate")
    done <<<"$reply"
    # Bash 3 has no compopt. There, the names of files are offered where nothing is open.
    compopt +o default +o bashdefault 2>/dev/null
    # The answer follows without a space.
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -F _answerback_open -o nosort -o bashdefault -o default answerback 2>/dev/null ||
    complete -F _answerback_open -o bashdefault -o default answerback

# What is open changes from moment to moment, so the program is asked for it. If the place in the line is not for an open question, its exit
# status says so, and the completion below does the rest.
_answerback_open() {
    local reply entry
    local -a whole begun
    reply=$(command answerback completions zsh -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null) || return 1
    for entry in ${(f)reply}; do
        # A colon of the word itself has a backslash before it.
        if [[ ${entry%%:*} == *= ]]; then begun+=("$entry"); else whole+=("$entry"); fi
    done
    _describe -V -t questions 'open question' whole
    # The answer follows without a space.
    _describe -V -t questions 'open question' begun -S ''
    return 0
}


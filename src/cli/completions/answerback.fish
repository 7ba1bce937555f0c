
# What is open changes from moment to moment, so the program is asked for it. It knows the place by the words before the cursor.
function __fish_answerback_open
    set -l current (commandline -ct)
    command answerback completions fish -- (commandline -opc) "$current" 2>/dev/null
end

complete -c answerback -n "__fish_answerback_using_subcommand answer show dismiss release resume" -f -k -a "(__fish_answerback_open)"
complete -c answerback -n "__fish_answerback_using_subcommand answer" -s a -l answer -x -k -a "(__fish_answerback_open)"
complete -c answerback -n "__fish_answerback_using_subcommand answer" -s t -l text -x -k -a "(__fish_answerback_open)"
complete -c answerback -n "__fish_answerback_using_subcommand answer" -s n -l note -x -k -a "(__fish_answerback_open)"

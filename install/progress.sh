# shellcheck shell=bash
# Runs cargo and shows how much is left. Sourced by install.sh.

# build ARGUMENTS...: cargo build with these arguments.
build() {
    # Cargo counts what it builds and repeats the count several times a second. We read it from there, for a terminal and for a log file.
    CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=200 CARGO_TERM_PROGRESS_TERM_INTEGRATION=false CARGO_TERM_COLOR=never \
        cargo build --locked "$@" 2>&1 | show_progress >&2
}

# Each update of cargo's own display ends with a carriage return. Everything else that cargo says are lines.
show_progress() {
    local update line started=$SECONDS told=-1
    while IFS= read -r -d $'\r' update || [[ -n $update ]]; do
        while IFS= read -r line; do
            show_line "$line"
        done <<<"$update"
    done
    if [[ -t 1 ]]; then printf '\r\033[K'; fi
    echo "Built in $(as_time $((SECONDS - started)))."
}

# show_line LINE: shows the count, and what is worth reading besides. Sets `told`, the last tenth of the build that was told to a file.
show_line() {
    local progress='Building \[.*\] ([0-9]+)/([0-9]+)'
    local everyday='^ +(Adding|Building|Compiling|Downloaded|Downloading|Finished|Locking|Updating) '
    local text now
    if [[ $1 =~ $progress ]]; then
        text="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} parts are built, $((BASH_REMATCH[2] - BASH_REMATCH[1])) left"
        text+=" ($(as_time $((SECONDS - started))))"
        now=$((BASH_REMATCH[1] * 10 / BASH_REMATCH[2]))
        # The last part is Answerback itself, and the largest by far.
        if [[ $1 == *": answerback"* ]]; then text+=", the last of them takes longest"; fi
        if [[ -t 1 ]]; then
            printf '\r\033[K%s' "$text"
        elif [[ $now -gt $told ]]; then
            echo "$text"
            told=$now
        fi
    elif [[ -n $1 && ! $1 =~ $everyday ]]; then
        if [[ -t 1 ]]; then printf '\r\033[K'; fi
        printf '%s\n' "$1"
    fi
}

# as_time SECONDS: "40 s" or "2 min 5 s".
as_time() {
    if [[ $1 -lt 60 ]]; then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

#!/usr/bin/env bash
# Measures SERVER, beside BASE if that is set, and leaves in OUT: page.html, result.json, comment.md (at most ten lines
# of results). With PROFILE, counts instructions per request (`keystorm profile`): a gate of half a per cent works then
# on any runner that has valgrind. Prints nothing that is secret. Sets the output `code` where GITHUB_OUTPUT is set; it
# always exits with 0 there, and with keystorm's exit code elsewhere.
set -euo pipefail

: "${SERVER:?name the server}" "${OUT:=keystorm-results}"
BASE=${BASE:-} LOAD=${LOAD:--t set,get} REPEAT=${REPEAT:-5} PERCENT=${PERCENT:-} HISTORY=${HISTORY:-} PROFILE=${PROFILE:-}
mkdir -p "$OUT"
# Words of a command line, quoted as in a shell; nothing in them is expanded or run.
mapfile -t load < <(python3 -c 'import shlex, sys; print("\n".join(shlex.split(sys.argv[1])))' "$LOAD")
gate=()
[ -z "$PERCENT" ] || gate=(--fail-on-regression "$PERCENT")
run=(--repeat "$REPEAT" "${load[@]}")
code=0
title="$SERVER"

if [ -n "$PROFILE" ]; then
    title="instructions of $SERVER${BASE:+ beside $BASE}"
    keystorm profile ${BASE:+"$BASE"} "$SERVER" ${BASE:+"${gate[@]}"} -q --starts "$REPEAT" \
        --json "$OUT/result.json" --html "$OUT/page.html" "${load[@]}" > "$OUT/result.txt" 2> "$OUT/remarks.txt" || code=$?
elif [ -n "$BASE" ]; then
    title="$SERVER beside $BASE"
    keystorm compare "$BASE" "$SERVER" --name-a base --name-b change "${gate[@]}" -q \
        --json "$OUT/result.json" --html "$OUT/page.html" "${run[@]}" > "$OUT/result.txt" 2> "$OUT/remarks.txt" || code=$?
else
    case $SERVER in
    *:[0-9]*) where=(-h "${SERVER%:*}" -p "${SERVER##*:}") ;;
    *) where=("--spawn=$SERVER") ;;
    esac
    keystorm "${where[@]}" -q --json "$OUT/result.json" --html "$OUT/page.html" "${run[@]}" \
        > "$OUT/result.txt" 2> "$OUT/remarks.txt" || code=$?
    if [ -n "$HISTORY" ] && [ "$code" = 0 ]; then
        mkdir -p "$HISTORY"
        # Runners have a new name each time. A run that is judged is not in the folder yet: it is no part of its baseline.
        keystorm compare --baseline "$HISTORY" --any-machine "${gate[@]}" "$OUT/result.json" \
            --html "$OUT/history.html" >> "$OUT/result.txt" 2>> "$OUT/remarks.txt" || code=$?
        cp "$OUT/result.json" "$HISTORY/$(date -u +%Y%m%dT%H%M%SZ)-${GITHUB_SHA:-${CI_COMMIT_SHA:-run}}-$$.json"
    fi
fi

cat "$OUT/remarks.txt" >&2
{
    case $code in
    0) echo "**keystorm**: $title" ;;
    3) echo "**keystorm: a regression** – $title" ;;
    4) echo "**keystorm: undecided** – $title" ;;
    *) echo "**keystorm failed** (exit code $code) – $title" ;;
    esac
    echo
    echo '```text'
    # Ten lines of results: the first tests, of repeats their means, and what the gate came to.
    results=$(grep -v -e '^$' -e '^Gate' "$OUT/result.txt" || true)
    if grep -q ', mean of ' <<< "$results"; then
        results=$(grep -v -E '^[^,]*: [0-9.]+ [a-z]+ per second' <<< "$results")
    fi
    sed -n 1,7p <<< "$results"
    more=$(($(wc -l <<< "$results") - 7))
    [ "$more" -le 0 ] || echo "and $more lines more, on the page"
    grep -h '^Gate' "$OUT/result.txt" "$OUT/remarks.txt" | sed -n 1,3p || true
    grep -h '^error: ' "$OUT/remarks.txt" | sed -n 1,3p || true
    echo '```'
    [ ! -s "$OUT/page.html" ] || echo "The page with every figure is among the artefacts of the run (keystorm)."
} > "$OUT/comment.md"
cat "$OUT/comment.md"
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    echo "code=$code" >> "$GITHUB_OUTPUT"
else
    exit "$code"
fi

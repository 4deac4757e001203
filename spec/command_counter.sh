# spec/command_counter.sh FILE - counts one further in FILE, with the lock that zklock run holds.
#
# FILE has a line for each write: WHAT TOKEN COUNT. "looked": the process that has the token knows
# the count; "counted": and counts one further. It is a store with a fence: a token smaller than the
# last is refused, also of a process that looks. A moment's flock makes a look and its write one
# step.
set -eu
file=$1

if [ "${2-}" ]; then # one step: $2 is WHAT, $3 the count, or empty: as it is
    last=$(tail -n 1 "$file")
    token=${last#* }
    [ "$ZKLOCK_TOKEN" -ge "${token% *}" ] || { echo "refused" >&2; exit 3; }
    count=${3:-${last##* }}
    echo "$2 $ZKLOCK_TOKEN $count" >>"$file"
    echo "$count"
    exit
fi

count=$(flock "$file" sh "$0" "$file" looked "")
sleep 0.2
flock "$file" sh "$0" "$file" counted $((count + 1)) >/dev/null

#!/usr/bin/env bash
# Checks windows on emulated machines with real kernels: run it after every change of the counters.
# It takes some ten minutes of one processor, and ends with a table of results.
#
#     tests/emulated-pmus.sh PMU_VM [costs]
#
# PMU_VM is a program that boots a Linux kernel on an emulated PMU and runs a command there:
#     PMU_VM --cpu CPU --kernel VERSION [--rdpmc N] [--env NAME=VALUE] FILE -- COMMAND
# With `costs` it prints the table of docs/cpus.md and checks nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
pmu_vm=${1:?the path of pmu-vm is missing}
what=${2-checks}
cargo build --release --locked --quiet --example windows
program=${CARGO_TARGET_DIR:-target}/release/examples/windows
output=$(mktemp)
trap 'rm -f "$output"' EXIT

results=()
failed=0

# usage: run CHECK OPTIONS OF PMU_VM…
#
# PMU_VM ends with 125 if the machine died. Emulated machines with two CPUs do so at times while they
# boot, for as long as nothing changes, so another seed is tried.
run() {
    local check=$1 result=failed seed
    shift
    echo "== $* : $check"
    for seed in 1 2 3; do
        local status=0
        "$pmu_vm" --time-limit 900 --set perf_event_paranoid=1 --seed "$seed" "$@" "$program" \
            -- ./windows "$check" >"$output" 2>&1 || status=$?
        [ "$status" = 125 ] || break
        echo "the machine died with seed $seed"
    done
    if [ "$status" = 0 ]; then
        result=passed
    else
        failed=1
    fi
    cat "$output"
    results+=("| $* | $check | $result | $(sed 's/.*: //' "$output" | paste -sd ';') |")
}

metrics=(--env CARGO_TOPDOWN_COUNTERS=metrics)
exact=(--env CARGO_TOPDOWN_COUNTERS=exact)

if [ "$what" = costs ]; then
    echo '| formula | inside: instructions | slots | outside: instructions | slots | both: ns | in criterion: ns | system calls |'
    for cpu in "spr ${metrics[*]}" "spr ${exact[*]}" "icx ${metrics[*]}" "icx ${exact[*]}" skx zen4 \
        "adl ${metrics[*]}" "spr --rdpmc 0 ${metrics[*]}" "spr --rdpmc 0 ${exact[*]}"; do
        # shellcheck disable=SC2086 # Options.
        run costs --cpu $cpu
    done
else
    # Hybrid machines: the thread moves to the other kind of core at every instruction.
    run moves --cpu adl "${metrics[@]}"
    run moves --cpu adl --kernel 6.12 "${metrics[@]}"
    run moves --cpu adl "${exact[@]}"
    # Root forbids RDPMC at every instruction.
    run forbidden --cpu spr "${metrics[@]}"
    run forbidden --cpu zen4
    # The CPU of the thread goes away.
    run offline --cpu spr --smp 2 "${metrics[@]}"
    for cpu in adl "spr ${metrics[*]}" "spr ${exact[*]}" "spr --rdpmc 0 ${metrics[*]}" \
        "spr --rdpmc 0 ${exact[*]}" "icx --kernel 6.12" skx "zen4 --kernel 6.12"; do
        # shellcheck disable=SC2086 # Options.
        run nested --cpu $cpu
        # shellcheck disable=SC2086 # Options.
        run calls --cpu $cpu
    done
    run nested --cpu spr --env CARGO_TOPDOWN_THREADS=all
    for cpu in "spr ${metrics[*]}" "spr ${exact[*]}" skx "zen4 --kernel 6.12"; do
        # shellcheck disable=SC2086 # Options.
        run first-iteration --cpu $cpu --env CARGO_TOPDOWN_SAMPLES=/job/samples
    done
    echo
    echo '| machine | check | result | |'
    echo '|---|---|---|---|'
    printf '%s\n' "${results[@]}"
fi
exit "$failed"

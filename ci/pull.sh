#!/usr/bin/env bash
# Fetches the baselines of this machine's class from the shared store. A store that is empty is no
# failure; one that cannot be read is.
#
# Reads CARGO_TOPDOWN_STORE and CARGO_TOPDOWN_BASELINES.
set -euo pipefail

cargo topdown baseline pull

#!/bin/sh
# Creates the namespace and the search attributes of runs where they are missing. May run any number of times.
set -eu

temporal operator namespace describe -n "$TEMPORAL_NAMESPACE" > /dev/null 2>&1 ||
  temporal operator namespace create -n "$TEMPORAL_NAMESPACE" --retention "$RETENTION"

present=$(temporal operator search-attribute list -n "$TEMPORAL_NAMESPACE")
ensure() {
  case "$present" in
    *"$1"*) ;;
    *) temporal operator search-attribute create -n "$TEMPORAL_NAMESPACE" --name "$1" --type "$2" ;;
  esac
}

ensure EverstepKind Keyword
ensure EverstepRun Keyword
ensure EverstepModel Keyword
ensure EverstepStep Int
ensure EverstepStatus Keyword
ensure EverstepScore Double

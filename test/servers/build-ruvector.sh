#!/bin/sh
# Builds the extension ruvector from its crate, and copies a PostgreSQL that has it, for test/servers/ruvector.test.ts:
#
#   sh test/servers/build-ruvector.sh [DIR]       without DIR: node_modules/.cache/ruvector
#   CTXBRIDGE_TEST_RUVECTOR=DIR node_modules/.bin/bun test --timeout 120000 test/servers/ruvector.test.ts
#
# Needs cargo (tried with Rust 1.95), a C compiler, libclang, and PostgreSQL 14 to 17 with headers (tried with 15): on
# Debian 12, `apt-get install clang postgresql-15 postgresql-server-dev-15`. PG_CONFIG names the pg_config of another;
# CARGO_FLAGS is for cargo, such as `-j 1`. What is built, 0.7 GB, is not built again. Whoever runs the server, who is not
# root, must be able to read DIR. Nothing besides is changed, but for what cargo keeps of crates.
set -eu

version=2.0.6
out=${1:-$(dirname "$0")/../../node_modules/.cache/ruvector}
mkdir -p "$out/pgrx"
out=$(cd "$out" && pwd -P)
began=$(date +%s)

for pg_config in ${PG_CONFIG:-/usr/lib/postgresql/1[4-7]/bin/pg_config pg_config} none; do
  if [ "$pg_config" = none ]; then
    echo "no PostgreSQL 14 to 17 with headers is here: apt-get install postgresql-15 postgresql-server-dev-15" >&2
    exit 1
  fi
  major=$("$pg_config" --version 2>/dev/null | sed 's/[^0-9]*\([0-9]*\).*/\1/')
  case $major in 1[4-7]) [ -f "$("$pg_config" --includedir-server)/postgres.h" ] && break ;; esac
done

# `cargo info` unpacks a crate; pgrx looks for pg_config in a file of its own, and begins again once that is written.
cargo info --quiet "ruvector-postgres@$version" >"$out/crate.txt"
crate=$(ls -d "${CARGO_HOME:-$HOME/.cargo}/registry/src"/*/"ruvector-postgres-$version" | head -n 1)
config=$(printf '[configs]\npg%s = "%s"' "$major" "$(command -v "$pg_config")")
[ "$config" = "$(cat "$out/pgrx/config.toml" 2>/dev/null)" ] || echo "$config" >"$out/pgrx/config.toml"

# The extension's SQL does without what the crate leaves out by default. No test asks how fast it is.
PGRX_HOME=$out/pgrx CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo build --release --locked --lib ${CARGO_FLAGS:-} \
  --manifest-path "$crate/Cargo.toml" --target-dir "$out/target" --no-default-features --features "pg$major"

# A server looks for extensions at places relative to its programs: so a copy has its own, under the paths of the original.
for folder in --bindir --pkglibdir --sharedir; do
  folder=$("$pg_config" $folder)
  mkdir -p "$out/server$folder"
  cp -R "$folder/." "$out/server$folder"
done
cp "$out/target/release/libruvector_postgres.so" "$out/server$("$pg_config" --pkglibdir)/ruvector.so"
cp "$crate/ruvector.control" "$crate"/sql/ruvector--*.sql "$out/server$("$pg_config" --sharedir)/extension"
ln -sfn "server$("$pg_config" --bindir)" "$out/bin"

echo "ruvector-postgres $version with PostgreSQL $major: $out, after $(($(date +%s) - began)) s"

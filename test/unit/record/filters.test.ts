import { describe, expect, test } from "bun:test"
import { unfiltered } from "../../../src/record/failed-runs.ts"

describe("a script without what only changes what is shown", () => {
  test.each([
    ["go test ./... 2>&1 | tail -20", "go test ./..."],
    ["go test ./... 2>&1 | grep -A 30 '^--- FAIL' | head", "go test ./..."],
    ["go test ./... > /tmp/out.log 2>&1", "go test ./..."],
    ["go test ./...  |& tee out.log |  wc -l", "go test ./..."],
    ["go test ./... || true", "go test ./..."],
    ['echo "=== tests ==="; go test ./... 2>/dev/null | tail -3; echo $?', "go test ./..."],
    ["cd shop && go test ./... | tail -3", "cd shop && go test ./..."],
    ["go vet ./... | head; go test ./... | tail", "go vet ./... ; go test ./..."],
    ["sed -n '1,5p' a.txt | head -3", "sed -n '1,5p' a.txt"],
  ])("%p", (script, essence) => {
    expect(unfiltered(script)).toBe(essence)
  })

  test.each([
    "find . -name '*.log' | xargs rm",
    "tail -20 server.log",
    "psql shop < basket.sql",
    "grep 'a > b' notes.txt",
    "cat <<'EOF' | tail",
    "echo $(git log | head -1) one",
    "true",
    "git log | grep 'x",
    // A script of two lines, folded into one.
    "go test ./... | tail -5 go vet ./...",
    "echo start go test ./...",
  ])("%p stays as it is", (script) => {
    expect(unfiltered(script)).toBe(script)
  })
})

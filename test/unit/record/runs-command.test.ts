/** Which scripts run a command, and which only have its words in them. */
import { describe, expect, test } from "bun:test"
import { runsCommand } from "../../../src/find/fixes.ts"

const runs = (script: string, command: string) => runsCommand(script, command.split(" "))

describe("as it stands", () => {
  test.each([
    ["docker build -t shop .", "docker build"],
    ["cd shop && docker build . | tail -3", "docker build"],
    ["cd shop\nDOCKER_BUILDKIT=1 docker build .", "docker build"],
    ["sudo docker build .", "docker build"],
    ["time timeout 60 go test ./... 2>&1 | grep FAIL", "go test"],
    ["/usr/local/go/bin/go test ./...", "go test"],
    ["for d in a b; do go test ./$d; done", "go test"],
    ["npx vitest run", "vitest run"],
    ["(cd app && npm test)", "npm test"],
    ["echo done || go test ./...", "go test"],
    ["ls | xargs go test", "xargs go"],
  ])("%s: %s", (script, command) => expect(runs(script, command)).toBe(2))
})

describe("with something between, or through another program", () => {
  test.each([
    ["docker --context far build .", "docker build"],
    ["docker buildx build .", "docker build"],
    ["go -C shop test ./...", "go test"],
    ["npm run test", "npm test"],
    ["bash -lc 'cd shop && docker build .'", "docker build"],
    ['ssh far "cd /srv; go test ./..."', "go test"],
    ["docker compose exec api go test ./...", "go test"],
    ["find . -name go.mod -execdir go test {} +", "go test"],
    ["ls | xargs -n 1 go test", "go test"],
  ])("%s: %s", (script, command) => expect(runs(script, command)).toBe(1))
})

describe("not at all", () => {
  test.each([
    ["ls docker build", "docker build"],
    ["cat docker/build.log", "docker build"],
    ['echo "docker build ."', "docker build"],
    ["echo docker build", "docker build"],
    ["grep -rn 'go test' .", "go test"],
    ["rg go test docs", "go test"],
    ['git commit -m "go test passes"', "go test"],
    ["git add go test", "go test"],
    ["cat > run.sh <<'EOF'\ngo test ./...\nEOF", "go test"],
    ["mkdir -p go test", "go test"],
    ["# go test ./...\nls", "go test"],
    ["go testing", "go test"],
    ["cargo test", "go test"],
    ["docker ps", "docker build"],
    ["go vet ./... # then go test", "go test"],
    ["echo 'unfinished", "go test"],
    ["", "go test"],
  ])("%s: %s", (script, command) => expect(runs(script, command)).toBe(0))
})

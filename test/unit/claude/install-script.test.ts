import { afterEach, beforeEach, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const SCRIPT = join(import.meta.dir, "../../../install.sh")

let root: string
let checkout: string

/** A checkout whose Bun, npm and npx are stand-ins that write down how they were called. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ctxbridge-script-"))
  checkout = join(root, "check out")
  for (const folder of ["check out", "home", "tools", "tmp", "elsewhere"]) mkdirSync(join(root, folder))
  copyFileSync(SCRIPT, join(checkout, "install.sh"))
  writeFileSync(join(checkout, "package.json"), '{\n  "packageManager": "bun@9.8.7"\n}\n')
  writeFileSync(join(checkout, "bun.lock"), "lock 1")
  const bun = `#!/bin/sh\n[ "$1" = --version ] && echo 9.8.7 || echo "bun $*" >>"${root}/calls"\n`
  writeFileSync(join(root, "bun"), bun, { mode: 0o755 })
  tool(
    "npx",
    `echo "npx $*" >>"${root}/calls"; echo "npm warn old" >&2
     mkdir -p node_modules/.bin && cp "${root}/bun" node_modules/.bin/bun`,
  )
  tool(
    "npm",
    `echo "npm $*" >>"${root}/calls"; echo noise; mkdir -p dist
     printf '#!/bin/sh\\necho "ctxbridge $*"\\n' >dist/ctxbridge; chmod 700 dist/ctxbridge`,
  )
  tool("node", "echo 20")
  tool("uname", "echo Linux")
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

function tool(name: string, body: string) {
  writeFileSync(join(root, "tools", name), `#!/bin/sh\n${body}\n`)
  chmodSync(join(root, "tools", name), 0o755)
}

function run(args: string[], path = "") {
  const done = spawnSync("/bin/sh", [join("..", "check out", "install.sh"), ...args], {
    cwd: join(root, "elsewhere"),
    encoding: "utf8",
    env: {
      PATH: `${join(root, "tools")}:${path}/usr/bin:/bin`,
      HOME: join(root, "home"),
      TMPDIR: join(root, "tmp"),
    },
  })
  expect(readdirSync(join(root, "tmp"))).toEqual([])
  return { code: done.status, out: done.stdout, err: done.stderr }
}

const calls = () => (existsSync(join(root, "calls")) ? readFileSync(join(root, "calls"), "utf8") : "")

test("builds, installs, registers the hooks, and shows that it works", () => {
  const bin = join(root, "home/.local/bin")
  expect(run([])).toEqual({
    code: 0,
    err: "",
    out: `Getting Bun 9.8.7 and packages
Building
ctxbridge demo --quiet
Installed  ${bin}/ctxbridge
PATH       add this line to your shell's start file: export PATH="${bin}:$PATH"
ctxbridge install --quiet
`,
  })
  expect(calls()).toBe("npx --yes bun@9.8.7 install --frozen-lockfile\nnpm run -s build\n")
  expect(statSync(join(bin, "ctxbridge")).mode & 0o777).toBe(0o755)
  expect(readdirSync(bin)).toEqual(["ctxbridge"])
  expect(readdirSync(join(root, "elsewhere"))).toEqual([])
  expect(run([], `${bin}:`)).toMatchObject({
    code: 0,
    out: `Building\nctxbridge demo --quiet\nInstalled  ${bin}/ctxbridge\nPATH       ok\nctxbridge install --quiet\n`,
  })
})

test("--prefix is relative to the caller; another ctxbridge ahead on the PATH is named", () => {
  tool("ctxbridge", "")
  const bin = join(root, "elsewhere/my own/bin")
  const { code, out } = run(["--prefix", "my own/", "--no-hooks", "--no-demo"], `${bin}:`)
  expect(code).toBe(0)
  expect(out).toContain(`Installed  ${bin}/ctxbridge\nPATH       has another ctxbridge first: ${root}/tools`)
  expect(out).not.toContain("ctxbridge install")
})

test.each(["~", "~/sub"])("--prefix=%s, which not every shell expands, is in the home folder", (prefix) => {
  expect(run([`--prefix=${prefix}`, "--no-hooks", "--no-demo"]).code).toBe(0)
  expect(existsSync(join(root, "home", prefix.slice(1), "bin", "ctxbridge"))).toBe(true)
  expect(readdirSync(join(root, "elsewhere"))).toEqual([])
})

test("--deps-only says nothing when there is nothing to do, and notices a new lock file", () => {
  expect(run(["--deps-only"]).out).toBe("Getting Bun 9.8.7 and packages\n")
  expect(run(["--deps-only"])).toEqual({ code: 0, out: "", err: "" })
  writeFileSync(join(checkout, "bun.lock"), "lock 2")
  expect(run(["--deps-only"]).out).toBe("Getting packages\n")
  expect(calls()).toBe("npx --yes bun@9.8.7 install --frozen-lockfile\nbun install --frozen-lockfile\n")
  expect(existsSync(join(checkout, "dist"))).toBe(false)
})

test("what fails shows its output, a line and a hint", () => {
  tool("npx", "echo 'npm error network' >&2; exit 7")
  expect(run([])).toEqual({
    code: 1,
    out: "Getting Bun 9.8.7 and packages\n",
    err: "npm error network\ninstall.sh: getting Bun failed\nhint: the lines above say why\n",
  })
  tool("node", "echo 18")
  expect(run([]).err).toContain("Node 18 is too old")
})

test.each([[["--bogus"]], [["--prefix"]], [["--prefix", ""]], [["--prefix="]]])(
  "%j is a usage error",
  (args) => {
    expect(run(args)).toMatchObject({ code: 64, out: "" })
    expect(calls()).toBe("")
  },
)

test("--help", () => {
  const { code, out } = run(["--help"])
  expect(code).toBe(0)
  for (const option of ["--prefix DIR", "--no-hooks", "--demo", "--no-demo", "--deps-only"])
    expect(out).toContain(option)
})

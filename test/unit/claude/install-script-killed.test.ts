/** install.sh, killed and run again. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { tempFolder } from "../../support/temp.ts"

const SCRIPT = join(import.meta.dir, "../../../install.sh")
/** How a stand-in kills the script that calls it. */
const KILL = "kill -9 $PPID"

let folder: ReturnType<typeof tempFolder>
let root: string
let checkout: string

beforeEach(() => {
  folder = tempFolder()
  root = folder.path
  checkout = join(root, "checkout")
  for (const name of ["checkout", "home", "tools", "tmp"]) mkdirSync(join(root, name))
  copyFileSync(SCRIPT, join(checkout, "install.sh"))
  writeFileSync(join(checkout, "package.json"), '{\n  "packageManager": "bun@9.8.7"\n}\n')
  writeFileSync(join(checkout, "bun.lock"), "lock 1")
  tool("node", "echo 20")
  tool("uname", "echo Linux")
  sound()
})

afterEach(() => folder[Symbol.dispose]())

function tool(name: string, body: string): void {
  const file = join(root, "tools", name)
  writeFileSync(file, `#!/bin/sh\n${body}\n`)
  chmodSync(file, 0o755)
}

const BUN = `'#!/bin/sh\\n[ "$1" = --version ] && echo 9.8.7 || : "$PWD"\\n'`

/** Stand-ins that do what they are to do: a package that is there is taken for whole, as Bun does. */
function sound(): void {
  tool(
    "npx",
    `mkdir -p node_modules/.bin
     printf ${BUN} >node_modules/.bin/bun; chmod 755 node_modules/.bin/bun
     [ -e node_modules/package ] || echo whole >node_modules/package`,
  )
  tool(
    "npm",
    `[ "$(cat node_modules/package)" = whole ] || { echo "a package is not whole" >&2; exit 1; }
     mkdir -p dist; printf '#!/bin/sh\\necho "ctxbridge $*"\\n' >dist/ctxbridge; chmod 755 dist/ctxbridge`,
  )
  for (const name of ["cp", "mv", "chmod"]) tool(name, `exec /bin/${name} "$@"`)
}

function run(...args: readonly string[]) {
  const { exitCode, signalCode, stdout, stderr } = Bun.spawnSync(
    ["/bin/sh", join(checkout, "install.sh"), ...args],
    {
      env: {
        PATH: `${join(root, "tools")}:/usr/bin:/bin`,
        HOME: join(root, "home"),
        TMPDIR: join(root, "tmp"),
      },
      stdin: "ignore",
    },
  )
  return { code: exitCode, signal: signalCode ?? null, out: String(stdout), err: String(stderr) }
}

const bin = (): string => join(root, "home/.local/bin")

const HALF_PACKAGES = `mkdir -p node_modules/.bin
  printf ${BUN} >node_modules/.bin/bun; chmod 755 node_modules/.bin/bun
  echo ha >node_modules/package`

/**
 * After `kill -9` on install.sh, packages that were half written counted as installed and the build failed from then on; half
 * binaries of 130 MB stayed in the checkout and beside the installed one.
 */
test.each([
  ["fetching packages", "npx", `${HALF_PACKAGES}\n${KILL}`],
  ["building", "npm", `echo half >dist/ctxbridge\necho half >.0123.bun-build\n${KILL}`],
  ["copying", "cp", `case $* in *dist/ctxbridge*) echo half >"$3"; ${KILL};; *) exec /bin/cp "$@";; esac`],
  ["making it runnable", "chmod", `case $* in *.ctxbridge.*) ${KILL};; *) exec /bin/chmod "$@";; esac`],
  ["putting it in its place", "mv", KILL],
])("killed while %s: the next run succeeds, and nothing is left behind", (_name, name, body) => {
  const former = "the former program"
  mkdirSync(bin(), { recursive: true })
  writeFileSync(join(bin(), "ctxbridge"), former)
  mkdirSync(join(checkout, "dist"))
  tool(name, body)
  expect(run()).toMatchObject({ signal: "SIGKILL" })
  expect(readFileSync(join(bin(), "ctxbridge"), "utf8")).toBe(former)
  sound()
  const again = run()
  expect(again).toMatchObject({ code: 0, err: "" })
  expect(again.out).toContain("ctxbridge demo --quiet\n")
  expect(readdirSync(bin())).toEqual(["ctxbridge"])
  expect(readdirSync(checkout).filter((entry) => entry.endsWith(".bun-build"))).toEqual([])
  expect(readdirSync(join(checkout, "node_modules")).sort()).toEqual([".bin", ".ctxbridge-lock", "package"])
  expect(run()).toMatchObject({ code: 0, err: "" })
})

test("packages that could not be fetched are no interruption: what is there is kept", () => {
  expect(run("--deps-only")).toMatchObject({ code: 0 })
  writeFileSync(join(checkout, "bun.lock"), "lock 2")
  writeFileSync(
    join(checkout, "node_modules/.bin/bun"),
    "#!/bin/sh\n[ $1 = --version ] && echo 9.8.7 || exit 7\n",
  )
  expect(run("--deps-only")).toMatchObject({
    code: 1,
    err: expect.stringContaining("getting packages failed"),
  })
  expect(existsSync(join(checkout, "node_modules/package"))).toBe(true)
  sound()
  tool("npx", "exit 9")
  writeFileSync(
    join(checkout, "node_modules/.bin/bun"),
    "#!/bin/sh\n[ $1 = --version ] && echo 9.8.7\ntrue\n",
  )
  expect(run("--deps-only")).toMatchObject({ code: 0 })
})

test("what another install that is at work has written stays", () => {
  mkdirSync(bin(), { recursive: true })
  const theirs = `.ctxbridge.${process.pid}.tmp`
  for (const name of [theirs, ".ctxbridge.x.tmp"]) writeFileSync(join(bin(), name), "theirs")
  expect(run()).toMatchObject({ code: 0, err: "" })
  expect(readdirSync(bin()).sort()).toEqual([theirs, ".ctxbridge.x.tmp", "ctxbridge"].sort())
})

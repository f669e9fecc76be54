import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Language, Parser } from "@vscode/tree-sitter-wasm"
import { TARGETS } from "../../../build/release/targets.ts"
import { releases } from "../../../package.json"
import { NO_BUN_VARIABLES } from "../../../src/config/unused-variables.ts"
import { tempFolder } from "../../support/temp.ts"

describe("install script", () => {
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

  test("what Bun keeps of a build is inside the checkout, and what is installed is told of none of it", () => {
    const kept = 'echo "$BUN_INSTALL_CACHE_DIR $BUN_RUNTIME_TRANSPILER_CACHE_PATH"'
    tool(
      "npm",
      `${kept} >"${root}/building"; mkdir -p dist
     printf '#!/bin/sh\\n${kept} >>"%s/installed"\\n' "${root}" >dist/ctxbridge; chmod 700 dist/ctxbridge`,
    )
    expect(run([])).toMatchObject({ code: 0, err: "" })
    const cache = join(realpathSync(checkout), "node_modules/.cache")
    expect(readFileSync(join(root, "building"), "utf8")).toBe(`${cache}/bun ${cache}/transpiled\n`)
    expect(readFileSync(join(root, "installed"), "utf8")).toMatch(/^(?: \n)+$/)
  })

  test("what is said of the import and the model is handed on; without hooks, only the model is asked for", () => {
    expect(run(["--no-demo", "--import", "--no-model"]).out).toEndWith(
      "\nctxbridge install --quiet --import --no-model\n",
    )
    expect(run(["--no-demo", "--no-hooks", "--model"]).out).toEndWith("\nctxbridge model install --yes\n")
    expect(run(["--no-demo", "--no-hooks"]).out).not.toContain("ctxbridge model")
    tool(
      "npm",
      "mkdir -p dist; printf '#!/bin/sh\\n[ $1 != model ]\\n' >dist/ctxbridge; chmod 700 dist/ctxbridge",
    )
    const { code, out } = run(["--no-demo", "--no-hooks", "--model"])
    expect(code).toBe(0)
    expect(out).toEndWith(`Model      not there; later: ${root}/home/.local/bin/ctxbridge model install\n`)
  })

  test("--prefix is relative to the caller; another ctxbridge ahead on the PATH is named", () => {
    tool("ctxbridge", "")
    const bin = join(root, "elsewhere/my own/bin")
    const { code, out } = run(["--prefix", "my own/", "--no-hooks", "--no-demo"], `${bin}:`)
    expect(code).toBe(0)
    expect(out).toContain(
      `Installed  ${bin}/ctxbridge\nPATH       has another ctxbridge first: ${root}/tools`,
    )
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
})

/** install.sh, killed and run again. */
describe("install script killed", () => {
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
})

/** install.ps1 needs Windows to run (.github/workflows/ci.yml). Here: that it says and knows the same as install.sh. */
describe("install powershell", () => {
  const ROOT = join(import.meta.dir, "../../..")
  const shell = readFileSync(join(ROOT, "install.sh"), "utf8")
  const script = readFileSync(join(ROOT, "install.ps1"), "utf8")

  /** `--no-hooks` and `-NoHooks` alike. */
  const plain = (option: string): string => option.replaceAll("-", "").toLowerCase()
  const optionsIn = (usage: string): string[] =>
    [...usage.matchAll(/^ {2}(--?[\w-]+)/gm)].map(([, name]) => plain(name!))
  const usage = /\$usage = @'\n([\s\S]*?)\n'@/.exec(script)![1]!

  /** What a parser of PowerShell does not understand: its lines, counted from 1. */
  async function wrongLines(text: string): Promise<number[]> {
    const folder = dirname(fileURLToPath(import.meta.resolve("@vscode/tree-sitter-wasm")))
    await Parser.init()
    const parser = new Parser().setLanguage(await Language.load(join(folder, "tree-sitter-powershell.wasm")))
    const cursor = parser.parse(text)!.walk()
    const lines: number[] = []
    for (let isNew = true; ; ) {
      if (isNew && (cursor.currentNode.isError || cursor.currentNode.isMissing))
        lines.push(cursor.startPosition.row + 1)
      isNew = isNew && cursor.gotoFirstChild()
      if (isNew || cursor.gotoNextSibling()) isNew = true
      else if (!cursor.gotoParent()) return lines
    }
  }

  test("it is PowerShell, and half of it is not", async () => {
    expect(await wrongLines(script)).toEqual([])
    expect(await wrongLines(script.slice(0, script.length / 2))).not.toEqual([])
  })

  test("it has the options of install.sh, but for the one of checkouts", () => {
    const theirs = optionsIn(/<<'USAGE'\n([\s\S]*?)\nUSAGE/.exec(shell)![1]!)
    expect(optionsIn(usage)).toEqual(theirs.filter((name) => name !== "depsonly"))
    const taken = /^param\(\n([\s\S]*?)\n\)/m.exec(script)![1]!
    expect([...taken.matchAll(/\$(\w+)/g)].map(([, name]) => plain(name!))).toEqual(optionsIn(usage))
  })

  test("its releases are those of the program", () => {
    expect(/^\$RELEASES = '(.*)'$/m.exec(script)?.[1]).toBe(releases)
  })

  test("the systems that it chooses are in a release", () => {
    const chosen = [...script.matchAll(/return '(windows-[\w-]+)'/g)].map(([, name]) => name!)
    expect(chosen).toEqual(["windows-x64-baseline", "windows-arm64"])
    for (const name of chosen) expect(TARGETS.map((target) => target.name)).toContain(name)
  })

  test("it clears what would turn the program into another one", () => {
    expect([...script.matchAll(/'(BUN_\w+)'/g)].map(([, name]) => name!)).toEqual(
      Object.keys(NO_BUN_VARIABLES),
    )
  })

  // PowerShell 5.1 takes a file without a byte order mark for the system's own code page.
  test("it is ASCII, and so is read alike everywhere", () => {
    expect(script.match(/[^\x00-\x7f]/g)).toBeNull()
  })

  test("a script that arrives in part does nothing: all of it is one block, which ends with it", () => {
    const [head, ...rest] = script.split("\n& {\n")
    expect(rest).toHaveLength(1)
    expect(head).not.toMatch(/^\s*(function|try|if|foreach)\b/m)
    expect(rest[0]!.split("\n").filter((line) => line.startsWith("}"))).toEqual(["}"])
    expect(rest[0]).toEndWith("\n}\n")
  })
})

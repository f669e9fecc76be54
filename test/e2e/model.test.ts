/** `ctxbridge model`, and ONNX Runtime inside the compiled file: installed, checked, run, with nothing around it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { sha256Of } from "../../src/base/sha256.ts"
import { type Manifest, MINILM, MODEL_FILE, TOKENIZER_FILE } from "../../src/find/embed/model-manifest.ts"
import { binary, type Ran, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const source = tempFolder()
const MANIFEST = join(source.path, "manifest.json")
let manifest: Manifest

beforeAll(() => {
  manifest = writeModel(source.path, TINY, "tiny")
})
afterAll(() => source[Symbol.dispose]())

/** What the package for Node has for this machine; the binary carries two of its files. */
const NATIVES = join(
  import.meta.dir,
  "../../node_modules/onnxruntime-node/bin/napi-v6",
  process.platform,
  process.arch,
)
const isCarried = (name: string): boolean =>
  /^(onnxruntime_binding\.node|libonnxruntime\.(so\.1|1\.dylib))$/.test(name)

const cli = (machine: Machine, ...args: string[]): Promise<Ran> =>
  run(["model", ...args], { env: machine.env, cwd: machine.cwd })

const json = async (machine: Machine, ...args: string[]) => {
  const { code, stdout, stderr } = await cli(machine, ...args, "--json")
  return { code, stderr, value: JSON.parse(stdout) }
}

const install = (machine: Machine, ...more: string[]) =>
  json(machine, "install", "--from", source.path, "--manifest", MANIFEST, ...more)

const models = (machine: Machine): string => join(machine.dataHome, "models")

describe("model", () => {
  test("without a model, status says how to get one, and verify and install fail", async () => {
    using machine = new Machine()
    const status = await cli(machine, "status")
    expect(status).toMatchObject({ code: 0, stderr: "" })
    expect(status.stdout).toContain("search is by words")
    expect(await json(machine, "status")).toMatchObject({ code: 0, value: { model: null, problem: null } })
    expect(await json(machine, "verify")).toMatchObject({ code: 3, value: { error: { code: "no-model" } } })
    expect(await json(machine, "install")).toMatchObject({
      code: 64,
      value: { error: { code: "no-source" } },
    })
    expect(await json(machine, "remove")).toMatchObject({ code: 0, value: { removed: null } })
    expect(existsSync(models(machine))).toBe(false)
  })

  test("install, again, verify on both runtimes, remove", async () => {
    using machine = new Machine()
    const told = await install(machine, "--dry-run")
    expect(told).toMatchObject({ code: 0, value: { changed: true, dryRun: true } })
    expect(existsSync(models(machine))).toBe(false)
    const runtimes = (): string[] =>
      readdirSync(join(machine.dataHome, "state")).filter((name) => name.startsWith("runtime-"))
    expect(existsSync(join(machine.dataHome, "state")) ? runtimes() : []).toEqual([])
    const first = await install(machine)
    // Nothing has been embedded, and nothing will have to wait for it.
    expect(runtimes()).toHaveLength(1)
    const written = join(machine.dataHome, "state", runtimes()[0]!)
    for (const name of readdirSync(written)) {
      expect(statSync(join(written, name)).mode & 0o777).toBe(0o700)
      expect(sha256Of(join(written, name))).toBe(sha256Of(join(NATIVES, name)))
    }
    expect(readdirSync(written).sort()).toEqual(readdirSync(NATIVES).filter(isCarried).sort())
    expect(first).toMatchObject({
      code: 0,
      stderr: "",
      value: { model: "tiny", changed: true, dryRun: false },
    })
    expect(await install(machine)).toMatchObject({ code: 0, value: { changed: false } })
    expect(await json(machine, "status")).toMatchObject({ code: 0, value: { model: "tiny", pinned: false } })
    const modes = readdirSync(models(machine), { recursive: true, withFileTypes: true }).map((entry) => {
      const { mode } = statSync(join(entry.parentPath, entry.name))
      return { name: entry.name, ok: (mode & 0o777) === (entry.isDirectory() ? 0o700 : 0o600) }
    })
    expect(modes.filter(({ ok }) => !ok)).toEqual([])
    expect(modes.length).toBe(5)
    const cosines: number[][] = []
    for (const runtime of ["native", "wasm"]) {
      const checked = await json(machine, "verify", "--runtime", runtime)
      expect(checked).toMatchObject({ code: 0, stderr: "", value: { ok: true, runtime, model: "tiny" } })
      cosines.push(checked.value.golden.map(({ cosine }: { cosine: number }) => cosine))
    }
    // The same numbers from two programs; 8-bit steps may fall differently.
    for (const [n, cosine] of cosines[0]!.entries()) {
      expect(cosine).toBeLessThan(0.999)
      expect(Math.abs(cosine - cosines[1]![n]!)).toBeLessThan(0.02)
    }
    await machine.idle()
    expect(await json(machine, "remove")).toMatchObject({ code: 0, value: { removed: models(machine) } })
    expect(existsSync(models(machine))).toBe(false)
  })

  test("if the native library does not load, WebAssembly takes over", async () => {
    using machine = new Machine()
    await install(machine)
    expect(await json(machine, "verify")).toMatchObject({ code: 0, value: { runtime: "native" } })
    await machine.idle()
    const state = join(machine.dataHome, "state")
    const folder = readdirSync(state).find((name) => name.startsWith("runtime-"))!
    rmSync(join(state, folder), { recursive: true })
    writeFileSync(join(state, folder), "in the way")
    expect(await json(machine, "verify")).toMatchObject({ code: 0, value: { runtime: "wasm", ok: true } })
    expect(await json(machine, "verify", "--runtime", "native")).toMatchObject({ code: 1 })
  })

  test("uninstall --purge removes model and runtime", async () => {
    using machine = new Machine()
    await install(machine)
    expect(await json(machine, "verify", "--runtime", "native")).toMatchObject({ code: 0 })
    await machine.idle()
    const ran = await run(["uninstall", "--purge", "--yes", "--json"], { env: machine.env, cwd: machine.cwd })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout)).toMatchObject({ left: [] })
    expect(existsSync(machine.dataHome)).toBe(false)
  })

  test("after three processes died with the native library, WebAssembly is used until native works again", async () => {
    using machine = new Machine()
    await install(machine)
    await machine.idle()
    const state = join(machine.dataHome, "state")
    mkdirSync(state, { recursive: true })
    const died = (): void => {
      const { pid } = Bun.spawnSync(["true"])
      writeFileSync(join(state, `loading-native-${pid}`), "")
    }
    const runtime = async (...args: string[]) => (await json(machine, "verify", ...args)).value.runtime
    died()
    died()
    expect(await runtime()).toBe("native")
    for (let n = 0; n < 3; n++) died()
    expect(await runtime()).toBe("wasm")
    expect(await runtime("--runtime", "native")).toBe("native")
    expect(readdirSync(state).filter((name) => name.startsWith("loading-native-"))).toEqual([])
    expect(await runtime()).toBe("native")
  })

  test("a file that is not the pinned one is refused, and nothing is installed", async () => {
    using machine = new Machine()
    using other = tempFolder()
    mkdirSync(join(other.path, "onnx"))
    const bytes = readFileSync(join(source.path, MODEL_FILE))
    bytes[1000]! ^= 1
    writeFileSync(join(other.path, MODEL_FILE), bytes)
    copyFileSync(join(source.path, TOKENIZER_FILE), join(other.path, TOKENIZER_FILE))
    const args = ["install", "--manifest", MANIFEST, "--from"]
    const wrong = { code: 1, value: { error: { code: "not-the-model" } } }
    expect(await json(machine, ...args, other.path)).toMatchObject(wrong)
    expect(await json(machine, ...args, other.path, "--dry-run")).toMatchObject(wrong)
    // Without a manifest it is all-MiniLM-L6-v2 that is asked for.
    expect(await json(machine, "install", "--from", source.path)).toMatchObject(wrong)
    rmSync(join(other.path, TOKENIZER_FILE))
    expect(await json(machine, ...args, other.path)).toMatchObject({ code: 3 })
    expect(await json(machine, ...args, join(other.path, "none"))).toMatchObject({ code: 3 })
    expect(existsSync(models(machine))).toBe(false)
  })

  test("a file that changed after installation is detected, and replaced by installing again", async () => {
    using machine = new Machine()
    const { value } = await install(machine)
    await machine.idle()
    const file = join(value.folder, MODEL_FILE)
    const bytes = readFileSync(file)
    bytes[5000]! ^= 1
    writeFileSync(file, bytes)
    expect(await json(machine, "verify")).toMatchObject({
      code: 1,
      value: { error: { code: "model-damaged" } },
    })
    expect(await install(machine)).toMatchObject({ code: 0, value: { changed: true } })
    expect(await json(machine, "verify")).toMatchObject({ code: 0 })
  })

  test("over the network, files from an address are checked against their hashes", async () => {
    using machine = new Machine()
    const asked: string[] = []
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        const { pathname } = new URL(request.url)
        asked.push(pathname)
        if (pathname.startsWith("/good/")) return new Response(Bun.file(join(source.path, pathname.slice(6))))
        if (pathname.startsWith("/large/")) return new Response(new Uint8Array(manifest.files[0]!.bytes + 1))
        if (pathname.startsWith("/other/")) return new Response(new Uint8Array(manifest.files[0]!.bytes))
        return new Response("no", { status: 404 })
      },
    })
    const from = (path: string, ...more: string[]) =>
      json(machine, "install", "--manifest", MANIFEST, "--from", `${server.url}${path}`, ...more)
    expect(await from("good", "--dry-run")).toMatchObject({ code: 0, value: { changed: true } })
    expect(asked).toEqual([])
    for (const path of ["none", "large"]) {
      expect(await from(path)).toMatchObject({ code: 1, value: { error: { code: "download-failed" } } })
    }
    expect(await from("other")).toMatchObject({ code: 1, value: { error: { code: "not-the-model" } } })
    expect(existsSync(models(machine)) ? readdirSync(models(machine)) : []).toEqual([])
    expect(await from("good")).toMatchObject({ code: 0, value: { changed: true } })
    expect(asked.filter((path) => path.startsWith("/good/"))).toEqual([
      `/good/${MODEL_FILE}`,
      `/good/${TOKENIZER_FILE}`,
    ])
    expect(await json(machine, "verify")).toMatchObject({ code: 0, value: { ok: true } })
    const plain = await json(machine, "install", "--from", "http://example.org/model")
    expect(plain).toMatchObject({ code: 1, value: { error: { code: "bad-address" } } })
  })

  test("without --from it comes from the usual address, once somebody has agreed", async () => {
    using machine = new Machine()
    let asked = 0
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        asked++
        return new Response(Bun.file(join(source.path, new URL(request.url).pathname)))
      },
    })
    const env = { ...machine.env, CTXBRIDGE_MODEL_FROM: server.url.origin }
    const usual = (...more: string[]): Promise<Ran> =>
      run(["model", "install", "--manifest", MANIFEST, ...more], { env, cwd: machine.cwd })
    const unasked = await usual()
    expect(unasked).toMatchObject({ code: 64, stdout: "" })
    expect(unasked.stderr).toMatch(
      /^ctxbridge: tiny \(.*\) is not installed\nhint: .* --yes downloads it from http:.*\n$/,
    )
    expect(await usual("--dry-run")).toMatchObject({ code: 0, stderr: "" })
    expect(asked).toBe(0)
    expect(await usual("--yes")).toMatchObject({ code: 0, stderr: "" })
    expect(asked).toBe(2)
    // It is there, so nobody is asked, and nothing is fetched.
    expect((await usual()).stdout).toBe("tiny is installed already, and every byte is right\n")
    expect(asked).toBe(2)
    await server.stop(true)
    await machine.idle()
    expect(await json(machine, "remove")).toMatchObject({ code: 0 })
    const offline = await usual("--yes")
    expect(offline).toMatchObject({ code: 1, stdout: "" })
    expect(offline.stderr).toMatch(/^ctxbridge: cannot fetch http:.*\nhint: .*--from DIR\n$/)
  })

  test.each([
    ["no JSON", "{"],
    ["another dimension", JSON.stringify({ id: "x", dimension: 3, files: [] })],
    ["no hash", JSON.stringify({ id: "x", dimension: 384, files: [{ path: MODEL_FILE, bytes: 1 }] })],
    [
      "a path that leads elsewhere",
      JSON.stringify({
        id: "x",
        dimension: 384,
        files: [{ ...MINILM.files[0], path: "../x" }, MINILM.files[1]],
      }),
    ],
    ["a name that leads elsewhere", JSON.stringify({ ...MINILM, id: "../x" })],
  ])("a manifest with %s is refused", async (_name, text) => {
    using machine = new Machine()
    const file = join(machine.root, "own.json")
    writeFileSync(file, text)
    const ran = await json(machine, "install", "--from", source.path, "--manifest", file)
    expect(ran).toMatchObject({ code: 1, value: { error: { code: "bad-manifest" } } })
  })

  test.each([
    [["explode"]],
    [["status", "more"]],
    [["verify", "--runtime", "gpu"]],
    [["install", "--form", "x"]],
  ])("%p is a usage error", async (args) => {
    using machine = new Machine()
    expect((await cli(machine, ...args)).code).toBe(64)
  })
})

/** A network of its own without any way out, where the system lets us have one. */
const lonely = Bun.spawnSync(["unshare", "-rn", "true"]).exitCode === 0 ? ["unshare", "-rn"] : []
const strace = Bun.which("strace")

describe("the compiled file on its own", () => {
  test("in an empty folder, with an empty home and no network, it embeds and leaves only its own files", async () => {
    using machine = new Machine()
    const { home, cwd } = machine
    const exe = join(machine.root, "ctxbridge")
    copyFileSync(binary(), exe)
    const alone = (...args: string[]) => {
      const command = [...lonely, "/usr/bin/env", "-i", `HOME=${home}`, exe, "model", ...args, "--json"]
      const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd })
      expect({ exitCode, stderr: String(stderr) }).toEqual({ exitCode: 0, stderr: "" })
      return JSON.parse(String(stdout))
    }
    alone("install", "--from", source.path, "--manifest", MANIFEST)
    for (const runtime of ["native", "wasm"]) {
      expect(alone("verify", "--runtime", runtime)).toMatchObject({ ok: true, runtime })
    }
    await machine.idle()
    expect(readdirSync(cwd)).toEqual([])
    // What the library would have left: ~/.cache/Microsoft, a tenth of a second after it was loaded.
    expect(readdirSync(home)).toEqual([".local"])
    expect(readdirSync(join(home, ".local")).sort()).toEqual(["share", "state"])
    for (const name of ["share", "state"]) {
      expect(readdirSync(join(home, ".local", name))).toEqual(["ctxbridge"])
    }
  })

  test.skipIf(strace === null)("it opens no network socket (needs strace)", async () => {
    using machine = new Machine()
    await install(machine)
    await machine.idle()
    const trace = join(machine.root, "trace")
    const command = [strace!, "-f", "-qq", "-o", trace, "-e", "trace=socket,connect,sendto,sendmsg,bind"]
    const ran = Bun.spawnSync([...command, binary(), "model", "verify", "--runtime", "native", "--json"], {
      env: machine.env,
      cwd: machine.cwd,
    })
    expect(JSON.parse(String(ran.stdout))).toMatchObject({ ok: true, runtime: "native" })
    expect(
      readFileSync(trace, "utf8")
        .split("\n")
        .filter((line) => /AF_INET|AF_NETLINK/.test(line)),
    ).toEqual([])
  })
})

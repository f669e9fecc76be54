/** A native library that is not whole. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import {
  closeSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const source = tempFolder()
beforeAll(() => {
  writeModel(source.path, TINY, "tiny")
})
afterAll(() => source[Symbol.dispose]())

const cli = async (machine: Machine, ...args: readonly string[]) => {
  const ran = await run([...args, "--json"], { env: machine.env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return JSON.parse(ran.stdout)
}

async function installed(): Promise<Machine> {
  const machine = new Machine()
  const session = machine.session().turn("The walrus sleeps.").flush()
  await machine.hook("stop", session)
  const manifest = join(source.path, "manifest.json")
  await cli(machine, "model", "install", "--from", source.path, "--manifest", manifest)
  await machine.idle()
  return machine
}

const stateOf = (machine: Machine): string => join(machine.dataHome, "state")

function libraryOf(machine: Machine): string {
  const folder = readdirSync(stateOf(machine)).find((name) => name.startsWith("runtime-"))!
  const files = readdirSync(join(stateOf(machine), folder)).map((name) =>
    join(stateOf(machine), folder, name),
  )
  return files.find((file) => statSync(file).size > 10 << 20)!
}

function overwrite(file: string, position: number): void {
  const fd = openSync(file, "r+")
  writeSync(fd, new Uint8Array(64).fill(0xa5), 0, 64, position)
  closeSync(fd)
}

/** A process that ended while it loaded the library. */
function died(machine: Machine): void {
  const { pid } = Bun.spawnSync(["true"])
  writeFileSync(join(stateOf(machine), `loading-native-${pid}`), "")
}

const nativeOf = async (machine: Machine): Promise<string> => (await cli(machine, "model", "status")).native

/**
 * A native library that was not whole on the disk ended every process that loaded it, and after three of them WebAssembly was
 * used for good; nothing told why.
 */
test.each<[string, (library: string, machine: Machine) => void]>([
  ["its end is missing", (library) => truncateSync(library, statSync(library).size - 5_000_000)],
  ["it is empty", (library) => truncateSync(library, 0)],
  ["it is gone", (library) => rmSync(library)],
  ["its beginning is another", (library) => overwrite(library, 0)],
  [
    "something in it is another, and three processes died",
    (library, machine) => {
      overwrite(library, statSync(library).size - 1000)
      for (let n = 0; n < 3; n++) died(machine)
    },
  ],
])("%s: told, written out anew when it is needed, and used", async (_name, damage) => {
  using machine = await installed()
  expect(await nativeOf(machine)).toBe("ok")
  damage(libraryOf(machine), machine)
  expect(await nativeOf(machine)).toBe("damaged")
  const { hits } = await cli(machine, "search", "--mode", "semantic", "walrus")
  expect(hits).toHaveLength(1)
  expect(await nativeOf(machine)).toBe("ok")
  expect(await cli(machine, "model", "verify")).toMatchObject({ runtime: "native", mended: false })
})

test("`model verify` looks at every byte", async () => {
  using machine = await installed()
  overwrite(libraryOf(machine), statSync(libraryOf(machine)).size - 1000)
  expect(await cli(machine, "model", "verify")).toMatchObject({ ok: true, runtime: "native", mended: true })
  expect(await nativeOf(machine)).toBe("ok")
})

test("what is not there yet, and what is not used, is told", async () => {
  using machine = new Machine()
  expect(await nativeOf(machine)).toBe("missing")
  using other = await installed()
  for (let n = 0; n < 3; n++) died(other)
  expect(await nativeOf(other)).toBe("distrusted")
})

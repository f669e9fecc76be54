/** Several `model install` at once took away each other's files: they failed, and in the end no model was there. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { installModel } from "../../src/embed/install-model.ts"
import { parseManifest } from "../../src/embed/model-manifest.ts"
import { run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(60_000)

const sources = [tempFolder(), tempFolder()]
beforeAll(() => {
  for (const [n, { path }] of sources.entries()) writeModel(path, TINY, "tiny", n + 1)
})
afterAll(() => {
  for (const source of sources) source[Symbol.dispose]()
})

const manifestIn = (folder: string): string => join(folder, "manifest.json")

test("each of them succeeds, and one model is there, whole", async () => {
  for (let round = 0; round < 3; round++) {
    using machine = new Machine()
    const model = (...args: readonly string[]) =>
      run(["model", ...args], { env: machine.env, cwd: machine.cwd })
    const all = [...sources, ...sources, ...sources].map(({ path }) =>
      model("install", "--from", path, "--manifest", manifestIn(path)),
    )
    for (const ran of await Promise.all(all)) expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(await model("verify")).toMatchObject({ code: 0, stderr: "" })
    expect(readdirSync(join(machine.dataHome, "models"))).toHaveLength(2)
  }
})

test("who has waited long enough says so, and what a killed one has left is taken away", async () => {
  using machine = new Machine()
  const { dataHome } = machine
  mkdirSync(dataHome)
  const { path } = sources[0]!
  const manifest = parseManifest(readFileSync(manifestIn(path), "utf8"))
  const install = () => installModel({ dataHome, manifest, from: path, dryRun: false, wait: 0 })
  const stopped = await holding(dataHome, "models.lock", () => install().catch((error: unknown) => error))
  expect(stopped).toMatchObject({
    code: "busy",
    message: "another process is installing or removing a model",
  })
  const { folder } = await install()
  mkdirSync(`${folder}.4711`)
  writeFileSync(join(`${folder}.4711`, "half"), "")
  expect(await install()).toMatchObject({ changed: false })
  expect(readdirSync(join(dataHome, "models")).filter((name) => name.includes(".4711"))).toEqual([])
})

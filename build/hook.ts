/**
 * Before the build: all that a hook loads at its start as one module, dist/hook/run.js, which src/main.ts imports. Left
 * to itself the bundler splits it into a dozen chunks, by which command shares what with it: that costs every hook 4 %
 * (docs/adr/0013). What hooks import later stays in src/, and is shared with the commands.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const ROOT = join(import.meta.dir, "..")
const TARGET = join(ROOT, "dist/hook")

const later: Bun.BunPlugin = {
  name: "later",
  setup(build) {
    build.onResolve({ filter: /^\./ }, ({ kind, path, importer }) => {
      if (kind !== "dynamic-import") return undefined
      return { path: relative(TARGET, resolve(dirname(importer), path)), external: true }
    })
  },
}

const built = await Bun.build({
  entrypoints: [join(ROOT, "src/hook/run.ts")],
  target: "bun",
  format: "esm",
  metafile: true,
  root: ROOT,
  plugins: [later],
})
const [module] = built.outputs
if (module === undefined || built.outputs.length !== 1) throw new Error("a hook's start is not one module")
mkdirSync(TARGET, { recursive: true })
writeFileSync(join(TARGET, "run.js"), await module.text())
writeFileSync(join(TARGET, "meta.json"), JSON.stringify(built.metafile))

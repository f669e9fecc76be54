/**
 * Makes one module of a program's entry and everything it imports statically. Otherwise the bundler splits the code
 * into dozens of chunks, according to which commands share it, and every chunk costs time at each start
 * (docs/adr/0013). Dynamically imported code stays in src/ and is shared with the other commands.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

const ROOT = join(import.meta.dir, "..")

/**
 * @param entry path relative to the repository
 * @param folder where the module and Bun's report on it (meta.json) are written
 * @param standIns what is imported instead of some modules, except by their neighbours
 */
export async function makeOneModule(
  entry: string,
  folder: string,
  standIns: Readonly<Record<string, string>> = {},
): Promise<void> {
  const target = join(ROOT, folder)
  const later: Bun.BunPlugin = {
    name: "later",
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ kind, path, importer }) => {
        const wanted = resolve(dirname(importer), path)
        if (kind === "dynamic-import") return { path: relative(target, wanted), external: true }
        const standIn = standIns[relative(ROOT, wanted)]
        const isNeighbour = dirname(importer) === dirname(wanted)
        return standIn === undefined || isNeighbour ? undefined : { path: join(ROOT, standIn) }
      })
    },
  }
  const built = await Bun.build({
    entrypoints: [join(ROOT, entry)],
    target: "bun",
    format: "esm",
    metafile: true,
    root: ROOT,
    plugins: [later],
  })
  const [module] = built.outputs
  if (module === undefined || built.outputs.length !== 1) throw new Error(`${entry} is not one module`)
  mkdirSync(target, { recursive: true })
  writeFileSync(join(target, basename(entry).replace(/\.ts$/, ".js")), await module.text())
  writeFileSync(join(target, "meta.json"), JSON.stringify(built.metafile))
}

/**
 * Makes one module of a program's entry and everything it imports statically. Otherwise the bundler splits the code
 * into dozens of chunks, according to which commands share it, and every chunk costs time at each start
 * (docs/adr/0013). What is imported dynamically or required stays in src/ and is shared with the other commands.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

const ROOT = join(import.meta.dir, "..")

/** The system that the binary is for, as its programs know it: the last argument, or this one. */
const platform = process.argv[2] ?? process.platform

interface Later {
  /** What is imported dynamically but nearly always: part of the module, and run when it is asked for. */
  readonly within?: readonly string[]
  /** What is imported dynamically, and the module that was made of it. */
  readonly made?: Readonly<Record<string, string>>
  /** What a package imports, and a file of ours in its place. */
  readonly instead?: Readonly<Record<string, string>>
}

/**
 * @param entry path relative to the repository, as all paths
 * @param folder where the module and Bun's report on it (meta.json) are written
 */
export async function makeOneModule(
  entry: string,
  folder: string,
  { within = [], made = {}, instead = {} }: Later = {},
): Promise<void> {
  const target = join(ROOT, folder)
  const later: Bun.BunPlugin = {
    name: "later",
    setup(build) {
      for (const [name, file] of Object.entries(instead)) {
        build.onResolve({ filter: new RegExp(`^${RegExp.escape(name)}$`) }, () => ({
          path: join(ROOT, file),
        }))
      }
      build.onResolve({ filter: /^\./ }, ({ kind, path, importer }) => {
        if (kind !== "dynamic-import" && kind !== "require-call") return undefined
        const wanted = relative(ROOT, resolve(dirname(importer), path))
        if (within.includes(wanted)) return undefined
        return { path: relative(target, join(ROOT, made[wanted] ?? wanted)), external: true }
      })
    },
  }
  const built = await Bun.build({
    entrypoints: [join(ROOT, entry)],
    target: "bun",
    format: "esm",
    metafile: true,
    // What only other systems need is left out, which makes hooks start sooner.
    define: { "process.platform": JSON.stringify(platform) },
    minify: { syntax: true },
    root: ROOT,
    plugins: [later],
  })
  const [module] = built.outputs
  if (module === undefined || built.outputs.length !== 1) throw new Error(`${entry} is not one module`)
  mkdirSync(target, { recursive: true })
  // A name of the bundler's own, which it would not recognise when it makes the binary.
  const code = (await module.text()).replaceAll('__require("../', 'require("../')
  writeFileSync(join(target, basename(entry).replace(/\.ts$/, ".js")), code)
  writeFileSync(join(target, "meta.json"), JSON.stringify(built.metafile))
}

/** Which programs are to be patched: the one that was named, or all that are installed. */
import { existsSync, statSync } from "node:fs"
import { clientsHere } from "../../claude/install/clients.ts"
import { CtxError, usageError } from "../../util/errors.ts"
import { tryTo } from "../../util/files.ts"
import { realpathSync } from "../../util/fs.ts"
import { dirname, join, resolve } from "../../util/path.ts"

const MODULES = join("node_modules", "@anthropic-ai")
const BUNDLE = "cli.js"

/** A file, or a package's folder. */
export function namedTarget(named: string, cwd: string): string {
  const path = resolve(cwd, named)
  const file = tryTo(() => realpathSync(path))
  if (file === undefined)
    throw usageError(`there is no ${path}`, "--target takes a cli.js, or its package's folder")
  if (!statSync(file).isDirectory()) return file
  const bundle = join(file, BUNDLE)
  if (existsSync(bundle)) return realpathSync(bundle)
  throw new CtxError("patch-refused", `${file} has no ${BUNDLE}: later versions are native programs`, {
    hint: "ctxbridge prune recommend says what works here",
  })
}

/** Installed clients, and the bundles of Agent SDKs in and above a folder. */
export function installedTargets(home: string, cwd: string): string[] {
  const clients = clientsHere(home).map(({ file, kind }) => {
    // A local installation is started by a script beside its modules.
    const local = join(dirname(file), MODULES, "claude-code", BUNDLE)
    return kind === "script" && existsSync(local) ? realpathSync(local) : file
  })
  const kits = foldersAbove(cwd)
    .map((folder) => join(folder, MODULES, "claude-agent-sdk", BUNDLE))
    .filter((file) => existsSync(file))
  return [...new Set([...clients, ...kits.map((file) => realpathSync(file))])]
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersAbove(above)]
}

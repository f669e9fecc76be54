/** `npm run docs`: writes what comes from the code into the pages. test/docs.test.ts says when it is due. */
import { join } from "node:path"
import { publicPluginFiles } from "../build/public-plugin.ts"
import { INSTALLERS, withReleases } from "../build/release/installers.ts"
import { releases, version } from "../package.json"
import { overview } from "../src/cli/overview.ts"
import { createStyle } from "../src/cli/style.ts"
import { optionsTable, pickerKeysTable, releasesOffered, releasesTold, withBlock } from "./blocks.ts"

const ROOT = join(import.meta.dir, "..")

/** The lines of `ctxbridge --help` between its head and its foot. */
export async function commandBlock(): Promise<string> {
  const [, list = ""] = (await overview(createStyle(false))).split("\n\n")
  return `\`\`\`text\n${list}\n\`\`\``
}

async function rewrite(path: string, block: string, content: string): Promise<void> {
  const page = await Bun.file(join(ROOT, path)).text()
  await write(path, withBlock(page, block, content), `${path}: ${block}`)
}

async function write(path: string, text: string, told = path): Promise<void> {
  const file = Bun.file(join(ROOT, path))
  if ((await file.exists()) && (await file.text()) === text) return
  await Bun.write(file, text)
  console.log(told)
}

if (import.meta.main) {
  await rewrite("docs/configuration.md", "options", optionsTable())
  await rewrite("docs/picker.md", "picker-keys", pickerKeysTable())
  await rewrite("docs/commands.md", "commands", await commandBlock())
  await rewrite("README.md", "releases", releasesOffered(releases))
  await rewrite("docs/installing.md", "releases", releasesTold(releases))
  for (const path of INSTALLERS)
    await write(path, withReleases(await Bun.file(join(ROOT, path)).text(), releases))
  for (const [path, text] of publicPluginFiles(version)) await write(path, text)
}

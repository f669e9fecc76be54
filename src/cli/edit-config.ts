/** `ctxbridge config set` and `edit`: changes of the user's own file. */
import { existsSync, mkdirSync } from "node:fs"
import { withOption } from "../config/config-text.ts"
import { loadSettings, userEditor } from "../config/load.ts"
import { type Key, OPTIONS } from "../config/options.ts"
import { encode, readText, replaceFile, targetOf } from "../util/edited-file.ts"
import { CtxError, usageError } from "../util/errors.ts"
import { dirname } from "../util/path.ts"
import { addressShown, withoutPasswords } from "../util/text.ts"
import type { Context } from "./command.ts"
import { isTerminal } from "./output.ts"
import { safe } from "./style.ts"

const isWindows = process.platform === "win32"

const FIRST_LINE =
  "# ctxbridge config list shows the options, ctxbridge config describe OPTION explains one.\n"

export function setOption({ env, out }: Context, key: Key, typed: string): void {
  const value = OPTIONS[key].parse(typed)
  if (value === undefined)
    throw usageError(
      `${key} cannot be ${JSON.stringify(addressShown(typed))}`,
      `allowed: ${OPTIONS[key].allowed}`,
    )
  const file = targetOf(env.configFile)
  const before = readText(file)
  const after = withOption(before ?? FIRST_LINE, key, literalOf(value, typed))
  if (after === undefined) throw notByUs(file)
  write(file, after, before)
  const { config, origin } = env.resolved
  const isHidden = origin[key] !== "user" && origin[key] !== "default"
  const shown = typeof value === "string" ? addressShown(value) : value
  out.json({ file: env.configFile, key, value: shown, ...(isHidden && { hiddenBy: origin[key] }) })
  out.print(`${key} = ${safe(String(shown))} in ${safe(env.configFile)}`)
  if (isHidden)
    out.print(
      `It has no effect here: ${safe(addressShown(String(config[key])))} comes from the ${origin[key]}.`,
    )
}

/** Numbers and sizes as they were typed, where TOML has them. */
function literalOf(value: unknown, typed: string): string {
  if (typeof value === "number")
    return /^\d+(\.\d+)?$/.test(typed.trim()) ? typed.trim() : JSON.stringify(typed)
  return JSON.stringify(value)
}

/** @returns exit code of the editor */
export function editConfig({ env, out }: Context): number {
  const file = targetOf(env.configFile)
  const editor = userEditor() ?? (isTerminal() ? (isWindows ? "notepad" : "vi") : undefined)
  if (editor === undefined) throw usageError("no editor is set", `set EDITOR, or edit ${env.configFile}`)
  if (readText(file) === undefined) write(file, FIRST_LINE, undefined)
  // Windows has no shell that everybody has; there, the value is a path, or words.
  const command = !isWindows
    ? ["sh", "-c", `${editor} "$1"`, "sh", file]
    : existsSync(editor)
      ? [editor, file]
      : [...editor.split(" "), file]
  const { exitCode } = Bun.spawnSync(command, {
    stdio: ["inherit", "inherit", "inherit"],
  })
  const { broken, resolved } = loadSettings(env.cwd)
  for (const text of broken) out.print(`Cannot read: ${safe(withoutPasswords(text))}`)
  for (const { key, message } of resolved.problems) out.print(`Ignored: ${safe(`${key}: ${message}`)}`)
  out.json({ file: env.configFile, broken, problems: resolved.problems })
  return exitCode
}

function write(file: string, text: string, before: string | undefined): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  replaceFile(file, encode(text), before === undefined ? null : encode(before))
}

const notByUs = (file: string): CtxError =>
  new CtxError("config", `${file} cannot be edited safely, and was left unchanged`, {
    hint: "ctxbridge config edit opens it in your editor",
  })

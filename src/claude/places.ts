/** Where Claude Code keeps its files. Pure. */
import { join } from "../base/path.ts"

/** Its configuration folder, unless `CLAUDE_CONFIG_DIR` names another. */
export const configFolder = (home: string): string => join(home, ".claude")

/** Its own state, servers included: beside the folder, or within another that was named. */
export const stateFile = (home: string, named: string | undefined): string =>
  join(named ?? home, ".claude.json")

/** Transcripts, by project. */
export const transcriptsFolder = (configFolder: string): string => join(configFolder, "projects")

/** What belongs to one project: the name of its folder with everything but letters and digits replaced. */
export const projectFolder = (configFolder: string, folder: string): string =>
  join(transcriptsFolder(configFolder), projectSlug(folder))

export const projectSlug = (folder: string): string => folder.replace(/[^A-Za-z0-9]/g, "-")

export const userSettings = (configFolder: string): string => join(configFolder, "settings.json")

/** Shared with the project's other users, and the user's own. */
export const PROJECT_SETTINGS = {
  project: ".claude/settings.json",
  local: ".claude/settings.local.json",
} as const

/** The command that starts it. */
export const COMMAND = "claude"

/** Where its installers link the program: the native one, and the one that npm keeps for the user alone. */
export const programFolders = (home: string): string[] => [
  join(home, ".local/bin"),
  join(configFolder(home), "local"),
]

/** What it reads into every context, below its configuration folder. */
export const MEMORY = { file: "CLAUDE.md", rules: "rules" } as const

/** The same below a project's folder and those above it. */
export const PROJECT_MEMORY = {
  files: ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
  rules: ".claude/rules",
} as const

/** What newer versions note for themselves, below `projectFolder` unless the settings name a folder. */
export const NOTES = { folder: "memory", file: "MEMORY.md" } as const

/** What each option is for, in one line of `config` and docs/configuration.md. */
import type { Key } from "./options.ts"

export const OPTIONS_DOC: Readonly<Record<Key, string>> = {
  "capture.enabled": "Archive transcripts from hooks. Off: the hooks do nothing at all.",
  "capture.exclude": "Folders whose sessions are not archived, with all folders below them.",
  "restore.enabled": "Restore context after a compaction or /clear, and show a pointer at startup.",
  "restore.budget": "Maximum characters of restored context, everything counted. Claude Code cuts at 10,000.",
  "restore.startup": "At startup, say in at most 1,000 characters where the project was left.",
  "restore.clear":
    "After /clear: a restore of the session that it ended (full), only where that was left (pointer), or nothing (off).",
  "restore.related":
    "Maximum turns on the same subject, from the project's other sessions, in a restore or pointer.",
  "restore.receipt":
    "After a restore, tell the user in one line what was restored. The model does not see it.",
  "recall.actions":
    "Remind the model, beside the result of a command or an edit, of what failed in this project before: one line, by a hook before these tools that is registered only while this is on. Seldom of use: over 47 real sessions it spoke twice, and was right once (docs/reminders.md).",
  "instructions.budget": "Maximum characters of instructions given to Claude Code's compaction.",
  "compaction.block":
    "Once per session, refuse your `/compact` while the session is not completely archived (docs/hooks.md). Automatic compactions are never refused.",
  "search.meaning":
    "Search by meaning where words leave something open, and make the vectors for it in the background (auto), or neither (off). `embed.enabled`, its former name, still counts where this one is not set: true is auto, false is off.",
  "embed.from":
    "Where `ctxbridge model install` takes the model from without `--from`. Empty: its authors' address on Hugging Face.",
  "archive.cold":
    "Let turns that were never opened leave the index, in the background, as `archive.max_size` and `archive.retention` say. `learn.enabled`, its former name, still counts where this one is not set.",
  "archive.retention":
    "Days after which a turn that was never used leaves the index, not the archive; 0: by age, none does.",
  "archive.max_size":
    "Size of the transcripts whose turns stay in the index. Beyond it, the least important that were never used leave it.",
  "hook.deadline": "Milliseconds after which a hook stops reading, commits what it has, and returns.",
  "autopilot.enabled":
    "Track how full the window is at every prompt, tell the user when it fills up, and the model when it is nearly full.",
  "autopilot.window": "Tokens in the window; 0: what Claude Code says, else what the model is known to have.",
  "autopilot.warn":
    "Share of Claude Code's compaction point at which the line turns yellow and the user is told, once until the next compaction.",
  "autopilot.critical": "The same for red; the model is told, too.",
  "autopilot.project-state":
    "Also write `autopilot-state.json` to the project's `.claude-flow/data`, where that folder exists.",
  "statusline.enabled":
    "Show the status line. Off: `install` adds none, and one that is there shows only the line it is chained to.",
  "prune.keep": "The latest prompts that `prune` leaves whole, with all that follows them.",
  "prune.threshold": "Tokens that could be pruned before `prune` does so.",
  "prune.max_chars": "How many characters of a text remain where it is pruned.",
  "prune.when":
    "When the proxy prunes: at a prompt after a `pause`, when the API's cache has expired, or at any `prompt`.",
  "prune.results": "Let the proxy also replace old tool output with a handle.",
  "sync.to": "Where `sync` sends to without `--to`. `CTXBRIDGE_SYNC_TO` comes first.",
  "sync.passphrase-file":
    "A file, private to you, with the passphrase of an encrypted folder or server. `CTXBRIDGE_SYNC_PASSPHRASE` comes first.",
  "sync.auto":
    "Let the background job sync, at most every 5 minutes: turns, or the transcripts themselves too (frames). Besides `summaries.auto`, nothing else uses the network by itself.",
  "secrets.enabled": "Replace secrets with `*` before anything is archived.",
  "secrets.patterns": "What else to replace: regular expressions, only in your own file.",
  "stats.prices":
    "What models cost, for `stats`, before the list prices that it knows: MODEL INPUT OUTPUT [CACHE-READ [CACHE-WRITE [CACHE-HOUR]]] (docs/stats.md).",
  "budget.block":
    "What you mean to spend at most in a block of five hours of Claude Code: `stats` shows how much of it is used, and the status line says so from 80% on. Dollars are list prices (docs/stats.md).",
  "budget.day": "The same for a day, of all agents.",
  "budget.week": "The same for a week, which begins on Monday.",
  "budget.month": "The same for a month.",
  "sync.backend":
    "Which backend `sync` without `--to` and `search --everywhere` use. `auto`: what is configured (docs/sync.md).",
  "output.links": "Make file names links where a terminal shows them (auto), or not (never).",
  "summaries.auto":
    "Have a session summarised when it ends, by your own `claude -p`, in the background (docs/summaries.md). This sends what the session says to the model, and costs what the model costs.",
  "summaries.model": "The model that `summarize` asks for.",
  "summaries.daily": "Maximum number of summaries a day that `summaries.auto` asks for.",
  "update.from": "Where `ctxbridge update` finds releases, and `install.sh` without a checkout.",
}

/**
 * Which commands show text that others wrote: pages, issues, files, histories. Lines of it that name an error name none
 * that the work has met. Pure.
 */

/** Fetch it, or print what is kept. */
const SHOWING = String.raw`(?<![\w.$-])(?:curl|wget|httpie|xh|aria2c|lynx|w3m|gh|glab|bat|batcat|less|strings|xxd|zcat|pandoc|pdftotext|journalctl|sqlite3|psql|mysql|(?:docker|podman|kubectl)(?: compose)? logs|(?:npm|pnpm|yarn) (?:view|info)|pip3? show|git(?: -[cC] \S+)* (?:log|show|diff|blame|grep|cat-file|reflog|shortlog))(?=\s|$)`
/** Do so unless they get it from the command before them, or write it. */
const READING = String.raw`(?<!\|\s{0,9}|[\w.$/-])(?:[\w/]*\/)?(?:cat(?! *(?:>|<<))|head|tail|tac|nl|e?grep|rg|ag|ack|sed(?! +-i)|awk|jq|yq|cut|sort|uniq|column|diff|base64)(?=\s|$)`
const SHOWS = new RegExp(`${SHOWING}|${READING}`)

/** Whether the output of a script may be text that it shows. */
export const showsText = (script: string): boolean => SHOWS.test(script)

/**
 * Finds turns of other sessions on the subject of a prompt, or none when the match is not obvious. Cheap enough for a
 * hook: few words, bounded lists, and the search's ranking of the rows that contain most of the words.
 *
 * The thresholds were measured on prompts that have nothing to do with any other session (docs/measurements/restore.md).
 */

import { namesIn, wordSet } from "../base/words.ts"
import type { Database } from "../views/database.ts"
import { population, rankRows } from "../views/queries/messages.ts"
import { idsOfProject } from "../views/queries/projects.ts"
import { spokenTurns, type TurnText } from "../views/queries/turns.ts"
import { matches } from "../views/queries/word-matches.ts"
import { filterWord } from "../views/word-index.ts"
import { weightOf as rarityOf } from "./candidates.ts"
import { isStopWord } from "./parse-query.ts"
import { type Ranked, rank, shortlist } from "./rank.ts"

export interface RelatedTurn extends TurnText {
  /** The clues that prompt and turn share, most telling first. */
  readonly clues: readonly Clue[]
  /** Weight of those clues, and its share of the weight of all the prompt's clues. */
  readonly evidence: number
  readonly share: number
}

interface RelatedRequest {
  readonly prompt: string
  readonly project: number
  /** The project's folder. Words of its name occur everywhere in the project. */
  readonly name: string
  /** Sessions to leave out, with their subagents: they have nothing new to tell. */
  readonly except: readonly string[]
  /** Only this session. */
  readonly within?: string
}

export interface Gate {
  readonly least: number
  /** Minimum share of the weight of all the prompt's clues. */
  readonly share: number
  /** A word in more than this share of what was said in the project's other sessions is no clue … */
  readonly common: number
  /** … unless at most this many messages contain it. */
  readonly few: number
}

const GATE: Gate = { least: 3, share: 0.4, common: 0.1, few: 10 }

/** For words given in order to find something: two of them suffice. */
export const FOCUSED: Gate = { ...GATE, least: 2 }

/** The same in the session itself, where much is about the same thing: one word suffices if it is a rare one. */
export const FOCUSED_WITHIN: Gate = { least: 1, share: 0.3, common: 0.2, few: 10 }

/** Maximum number of messages that may contain a clue. A project's messages are only counted as far as this needs. */
const MOST = 60
/** UTF-16 units of a turn's prompt and of its answer in which clues are looked for. */
const READ = 1500
/** Messages whose turns are looked up, those with the most clues first. */
const LOOKED_UP = 40

const quoted = (word: string): string => `"${word}"`

/** Best first: those that pass the gate, in the order of a search for the clues. */
export function relatedTurns(db: Database, request: RelatedRequest, gate: Gate = GATE): RelatedTurn[] {
  const own = wordSet(request.name)
  const clues = cluesOf(request.prompt).filter(({ word }) => !own.has(word))
  const total = weightOf(clues)
  const needed = Math.max(gate.least, gate.share * total)
  if (total < gate.least) return []
  const ids = idsOfProject(db, request.project)
  const ofProjects = ids.map((id) => quoted(filterWord.said(id))).join(" OR ")
  const said = ids.length > 1 ? `(${ofProjects})` : ofProjects
  const except = request.except.map((session) => quoted(filterWord.session(session))).join(" OR ")
  const inside =
    request.within === undefined ? said : `(${said} AND ${quoted(filterWord.session(request.within))})`
  const filter = except === "" ? inside : `(${inside} NOT (${except}))`
  const lists: Found[] = []
  let hope = total
  for (const clue of clues) {
    const rows = messagesWith(db, clue.word, filter, gate)
    if (rows.length > 0) lists.push({ clue, rows })
    else hope -= clue.weight
    if (hope < needed) return []
  }
  const ranked = rankedBy(db, lists)
  const messages = ranked.map(({ message }) => message!)
  const spoken = new Map(spokenTurns(db, messages).map((one) => [one.turn, one]))
  return ranked.flatMap(({ turn }) => {
    const text = spoken.get(turn)
    if (text === undefined) return []
    const shared = lists
      .map(({ clue }) => clue)
      .filter((clue) => placeOf(clue, text.prompt) >= 0 || placeOf(clue, text.answer) >= 0)
    const evidence = weightOf(shared)
    return evidence < needed ? [] : [{ ...text, clues: shared, evidence, share: evidence / total }]
  })
}

interface Found {
  readonly clue: Clue
  /** Messages that have it. */
  readonly rows: readonly number[]
}

/** As a search ranks what it found, with the clues for its terms. */
function rankedBy(db: Database, lists: readonly Found[]): Ranked[] {
  const size = population(db)
  const masks = new Uint8Array(size + 1)
  const ids = new Set<number>()
  for (const [n, { rows }] of lists.entries()) {
    for (const id of rows) {
      ids.add(id)
      masks[id]! |= 2 ** n
    }
  }
  const terms = lists.map(({ clue, rows }) => {
    const term = { word: clue.word, typed: clue.typed, isPrefix: false }
    return { ...term, weight: clue.weight * rarityOf(term, rows.length, size) }
  })
  const candidates = { terms, masks, ids: [...ids], size }
  return rank(candidates, rankRows(db, shortlist(candidates, LOOKED_UP), false))
}

/** Messages that contain the word and pass the filter; none when there are too many. */
function messagesWith(db: Database, word: string, filter: string, { few, common }: Gate): number[] {
  // Many words of a prompt occur nowhere. Without the filter's long lists, that shows at once.
  if (matches(db, quoted(word), 1).length === 0) return []
  const rows = matches(db, `${quoted(word)} AND ${filter}`, MOST + 1)
  if (rows.length <= few) return rows
  if (rows.length > MOST) return []
  return rows.length <= matches(db, filter, Math.ceil(MOST / common)).length * common ? rows : []
}

const weightOf = (clues: readonly Clue[]): number => clues.reduce((sum, { weight }) => sum + weight, 0)

/** Position of the clue in the text, or -1. */
export function placeOf({ word, typed }: Clue, text: string): number {
  const folded = text.slice(0, READ).toLowerCase()
  const place = folded.indexOf(typed.toLowerCase())
  return place < 0 ? folded.indexOf(word) : place
}

/* Picks the words that tell what a prompt is about, few enough to look each of them up. Pure. */

export interface Clue {
  /** As it is in the index. */
  readonly word: string
  /** As it was typed. */
  readonly typed: string
  /** How much sharing this word says about a turn; a plain word counts 1. */
  readonly weight: number
}

/** Only this many UTF-16 units of a prompt are read: the rest of a pasted log is more of the same. */
const CLUES_READ = 400
/** How many clues are looked up; the most telling ones are kept. */
const MOST_CLUES = 8
/** A name of several parts, as in code, is seldom used for two things. */
const NAME = 2
const PLAIN = 1
/** Pairs of characters overlap, so two of them make about one word. */
const PAIR = 0.5
/** Shorter plain words are too common; acronyms may be shorter. */
const SHORTEST = 4
const SHORTEST_ACRONYM = 3

const ASCII = /^[\x00-\x7f]*$/
const LOOKS_LIKE_CODE = /[_.\d]|[a-z][A-Z]/
const ACRONYM = /^(?:[A-Z\d]+|[a-z]*\d[a-z\d]*)$/

export function cluesOf(prompt: string): Clue[] {
  const found = new Map<string, Clue>()
  for (const run of new Set(prompt.slice(0, CLUES_READ).match(/\S+/g))) {
    // Most words end here, without being taken apart.
    if (isEveryday(run.toLowerCase().replace(/[.,:;?!]+$/, ""))) continue
    const clues = namesIn(run).flatMap(({ words, at, length }) => {
      const typed = run.slice(at, at + length)
      return ASCII.test(typed) ? asciiClue(typed, words) : otherClues(typed, words)
    })
    // Only the last name of a path or URL: its folders are shared by many other files.
    for (const clue of run.includes("/") ? clues.slice(-1) : clues) {
      if (!found.has(clue.word)) found.set(clue.word, clue)
    }
  }
  return [...found.values()]
    .map((clue, place) => ({ clue, place }))
    .sort(
      (a, b) =>
        b.clue.weight - a.clue.weight || b.clue.typed.length - a.clue.typed.length || a.place - b.place,
    )
    .slice(0, MOST_CLUES)
    .map(({ clue }) => clue)
}

/** A name counts only as a whole: its parts are words that fit any subject. */
function asciiClue(typed: string, words: readonly string[]): Clue[] {
  const word = words.at(-1)!
  const shortest = ACRONYM.test(typed) ? SHORTEST_ACRONYM : SHORTEST
  if (word.length < shortest || /^\d+$/.test(word)) return []
  const plain = typed.toLowerCase().replace(/[^a-z\d]/g, "")
  if (isEveryday(plain) || isEveryday(word)) return []
  const parts = words.slice(0, -1)
  if (parts.length > 0 && parts.every((part) => part.length < SHORTEST_ACRONYM || isEveryday(part))) {
    return LOOKS_LIKE_CODE.test(typed) ? [{ word, typed, weight: PLAIN }] : []
  }
  return [{ word, typed, weight: parts.length > 0 && LOOKS_LIKE_CODE.test(typed) ? NAME : PLAIN }]
}

/** Words in other alphabets, or pairs of characters in scripts without spaces. */
function otherClues(typed: string, words: readonly string[]): Clue[] {
  if (isEveryday(typed.toLowerCase())) return []
  return words.flatMap((word) => {
    if (isEveryday(word)) return []
    const isPair = [...word].length === 2
    if (!isPair && word.length < SHORTEST) return []
    return [{ word, typed: isPair ? word : typed, weight: isPair ? PAIR : PLAIN }]
  })
}

/*
 * Words that say nothing about a prompt's subject: what people ask of a coding agent whatever they work on, and the
 * commonest words of a few languages. Two prompts that share only these are unrelated. Pure.
 */

const ENGLISH = `
  able above across action actual add again against agent all allow almost alone along already also although always
  amount another answer any anything app application apply approach are around ask assume avoid away back bad base based
  basic become been behavior behaviour behind below best better between big bit both branch break bring broken bug build
  built bunch call came care carefully case cause certain change changelog chat check choose clean clear close code
  command comment commit common compare compile complete completely component config configuration confirm consider
  contain content context continue control convert copy correct could couple cover crash create current currently data
  date day debug decide deep default define delete depend dependency deploy describe description design detail details
  develop did different difference directory disable discuss display doc document documentation does done double down
  draft drop during each early easy edit effect either else empty enable end enough ensure entire environment error
  especially etc even ever every everything everywhere exact exactly example except exist existing expect explain extra
  fact fail failing failure fair false far fast feature feel few field figure file final finally find fine finish first
  fix flag flow folder follow following form format forward found full fully function further general generate gets give
  given go goes going good great green group guess had half hand handle happen hard have head hello help here hey hi
  hint history hold hope idea identify ignore implement implementation important improve include indeed info information
  input inside inspect install instead instruction issue item job keep kind know large last late later latest lead learn
  least leave left less let level library like line link lint list little live load local log logic long look lot low
  made main maintain major make many mark match matter may maybe mean merge message method might mind minor minute
  missing mode model module moment more most move much must name need never new next nice none normal note nothing
  notice now number object obvious ok okay old once one only open operation option order original other otherwise out
  output over own package page parameter part pass past path pattern perfect perhaps piece place plan play please point
  possible post prefer prepare present pretty prevent previous print probably problem process produce progress project
  prompt proper properly provide pull purpose push put question quick quickly quite rather read readme ready real
  really reason recent red refactor reference related release relevant remain remember remove rename repeat replace
  report repo repository request require requirement research resolve response rest result return review rewrite right
  root rule run safe same save say script search second section see seem send sentence separate set setting setup several
  share short show side similar simple simplify simply since single situation size skip slow small solution solve
  something sometimes somewhere soon sort source specific split stage standard start state status stay step still stop
  stuff style such suggest suggestion suite summary support suppose sure switch system table take talk task team tell
  test text thank thanks thing think third though thought three through time title today together told tomorrow took
  tool top total touch try turn two type under understand unit until update upgrade usage use used useful user using
  usual usually valid value variable various verify version very via view wait walk want warning way week well went
  were whatever whether whole wish within without wonder word work working world worry worth write wrong year yes yet
  yesterday yesterdays zero first second third january february march april may june july august september october
  november december agents agentsmd android api apps aren arent arg args async attempt automatic automatically background
  backend bin boolean box brief browser button byte cannot char class client cli column com commands concise connect
  console contribute contributingmd count couldn cpu css dear desktop dev device didn dir disk dist docker docs doesn don
  downloads email entry env error errors essential etc event exception excerpt exit extreme extremely fetch fork frontend
  fresh frequent func functions gb github githubcom guide guys had hadn hasn haven head home host however html http https
  ie img import inner int interest interested internal ios isn kb kill known lang layer license licensemd lint linux
  listen localhost loop mac machine macos markdown mb mac memory menu mid ms mobile modern mostly mount mouse near
  network node npm null nodejs often online org os outer outside parse param params particular personal pick platform
  plugin port pr prs press previously propose proposal public py quality ran react recommend rely repl reset resource
  restart retry route row rows ruby rust schema screen script sdk security self sense server service session shell shouldn
  sign signal skill smart software somehow spec specs sql src ssh stack static string structure sub sync syntax talked
  target temp terminal themselves thread tmp token tracking tree troubleshoot typo ui unix url urls users usr utf uuid ux
  var versus video visit visual void warn wasn web website weren whats window windows workflow workspace wouldn www xml
  yaml yml you january monday tuesday wednesday thursday friday saturday sunday bash claude javascript typescript python
  github git html json yaml readmemd packagejson tsconfigjson claudemd nodemodules indexts indexjs mainpy initpy
  appts appjs maints`

const GERMAN = `
  aber alle allem allen aller alles als also am andere anderen auch auf aus bei beim bereits besser bevor bin bis bist
  bitte dafür damit danach dann daran darauf das dass dazu dein deine dem den denn der des deshalb diese diesem diesen
  dieser dieses doch dort durch ein eine einem einen einer eines einfach einige erst erste etwas fehler fertig finde für
  ganz geht genau gerade gibt gleich gut habe haben hast hat hier hinzu ich ihm ihn ihr immer ist jede jeden jeder jedes
  jetzt kann kannst kein keine klasse können könntest los mach mache machen mal man mehr mein meine mir mit möchte muss
  müssen nach nächste nächsten neu neue neuen nicht nichts noch nun nur ob oder ohne repariere schau schon schreib
  schreibe schritt sehr sein seine sich sie sind soll sollen sollte sondern sonst tests über überprüfe um und uns unter
  vielleicht viele vom von vor waren warte warum was weiter weil welche wenn werden wie wieder will wir wird wo wurde
  zeig zeige zuerst zum zur zwischen ändere änderungen datei dateien funktion füge behebe bau baue lass teste`

const ROMANCE = `
  ahora algo alguna antes aquí archivo archivos así aún avec avant aussi autre autres bien bueno cada cambia cambio cambios
  ceci cela celle ces cet cette chaque código comme como con continua continuar continue continúa corrige corriger cosa
  crea créer dans days del depuis des desde después dev donc donde dopo else elle encore entre erreur erreurs errori error
  errores esa ese eso esta está estas este esto están être être faire fais fait falla favor fehler fichier fichiers file
  finalement fonction fonctionne función funciona gracias grazie guarda hace hacer haz hasta hay hice ici ils jusque
  les leur los luego lugar maintenant mais mal más même merci meglio mejor meme mes mets mieux mismo modifica mucho muy
  nada ninguna nos notre nous nouveau nouvelle nueva nuevo ora otra otras otro otros par para parce pas perché perfecto
  pero però peux plus plutôt pode podemos poi por porque pour pourquoi pouvez prego primero prima primo primeiro prochaine
  proximo prueba pruebas puedes quando quand que quel quelle questa questo qui quiero quoi regarde revisa sans se ser
  seulement siamo sigue siguiente sin sobre solo son sono sont sous storico suite sur también tanto tes todo todos tous
  tout toute toutes trop tutti tutto una une uno usa usando utilise vale vamos vas veo ver vers voir vous você voy était`

const OTHERS = `
  een het niet voor met van ook maar dit dat wat kan nog naar deze graag alsjeblieft verder ga door maak fout
  och att det inte för som till den har med kan nu detta
  как что это для или при все нет уже тест тесты ошибка ошибку исправь продолжай дальше сделай давай пожалуйста код
  proszę dalej napraw testy jest tego`

/** Pairs of characters: how words of these scripts are indexed (base/words.ts). */
const PAIRS = `
  继续 请继 续吧 修复 复测 测试 试试 错误 代码 文件 运行 一下 这个 那个 什么 怎么 为什 我们 你们 可以 现在 然后 检查 问题 添加 更新 提交
  请修 请检 下一 一步 完成 谢谢 好的 続け けて てく くだ ださ さい 修正 テス スト して 確認 お願 願い いし しま ます
  계속 해줘 해주 주세 세요 수정 테스`

const EVERYDAY = new Set(`${ENGLISH} ${GERMAN} ${ROMANCE} ${OTHERS} ${PAIRS}`.trim().split(/\s+/))

/** Endings that are stripped before looking a word up. */
const ENDINGS = ["s", "es", "ing", "ed", "d", "ly", "er"]

/** @param word in lower case, without the characters that join its parts */
export function isEveryday(word: string): boolean {
  if (EVERYDAY.has(word) || isStopWord(word)) return true
  for (const ending of ENDINGS) {
    if (!word.endsWith(ending)) continue
    const rest = word.slice(0, -ending.length)
    if (EVERYDAY.has(rest) || EVERYDAY.has(`${rest}e`)) return true
    // "stopping", "planned"
    if (rest.at(-1) === rest.at(-2) && EVERYDAY.has(rest.slice(0, -1))) return true
  }
  return false
}

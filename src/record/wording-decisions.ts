/**
 * Wordings of decisions: a choice between ways, or a way that is settled. What was found to be the cause of something is
 * none, though it is told with the same words. Pure.
 */
import { once } from "../base/once.ts"
import {
  begins,
  plainWords,
  reportedInEnglish,
  reportedInGerman,
  SMALL_WORDS,
  type Wording,
  type Wordings,
  wholeWords,
} from "./wording.ts"

/** "I", "we'll", "I have only" and what else may stand before a verb of choosing. */
const WE = String.raw`\b(?:I|we)(?:['’](?:ll|ve|m|re)| will| have| am| are)?(?: (?:going to|just|only|also|now|then|therefore|simply|instead|deliberately|intentionally|still))*`
/** "Let me" only announces a step, unless it names the other way. */
const WHO = String.raw`(?:${WE}|\blet me|\blet['’]s)`
/** What one does with a way: takes it, or not. Looking, checking and running are no choices. */
const TAKE =
  "use|using|keep|keeping|leave|leaving|skip|skipping|defer|deferring|drop|dropping|stay|stick|split|switch|convert|replace|fold|pin|treat|restore|revert|delete|remove|inline"
const TOOK =
  "used|kept|left|skipped|deferred|dropped|stayed|stuck|split|switched|converted|replaced|folded|pinned|treated|restored|reverted|deleted|removed|inlined"
/** These say so only where the other way is named. */
const MAKE = "put|make|move|set|branch|file|store|return|build|write|rewrite|modify|correct|merge|add"
const MADE = "made|moved|branched|filed|stored|built|wrote|rewrote|merged|recorded|added"
/** Within the same clause. */
const RATHER = String.raw`(?:(?!\bso (?:it|that|they|the|we|I)\b)[^;—])*?\b(?:rather than|instead of|in favou?r of)\b`
const CONTRAST = String.raw`(?:${RATHER}|[^;—:(]*?, not (?!yet|sure|just|only|because|that)\w)`
const REASON = String.raw`[^;]*?\b(?:because|since(?! (?:(?:the|its|his|her|my|our|your) )?(?:last|first|previous|latest|then|yesterday|v?\d))|so that|so as (?:not )?to|on purpose|per your|as you (?:asked|said|wanted))\b`
/** Verbs that only tell what comes next. */
const NEXT =
  "(?:look|check|verify|confirm|read|re-?read|see|find|test|trace|inspect|examine|be|get|explain|answer|think|dig|investigate|review|explore|understand|measure|count|ask|flag|note|know|need|have|report|start|try|wait|poll|grep|search|monitor|watch|continue|proceed|summari[sz]e|list|show|walk|present|share|describe)"
/** Verbs of making as they end in -ing: whoever is "checking it rather than guessing" decides nothing. */
const MAKING =
  "(?:remov|delet|replac|convert|switch|mov|mak|build|writ|rewrit|patch|putt|stor|splitt|merg|revert|restor|dropp|inlin|apply|updat)ing"

/** What only points: whoever reads the sentence alone cannot tell what was chosen. */
const POINTER = String.raw`(?:(?:it|them)\b(?! (?:is|(?:as )?(?:simple|small|minimal|short))\b)|(?:this|that|these|those)(?= (?:in|on|as|at|to|out|up|for|from|with|into|alone|there|too|here|so|because|since|but|and|rather|instead|over|untouched|unchanged|\p{L}+ly)\b|\s*[.,;:—–-]|$))`
const LEAD = String.raw`(?:(?:so|then|and|but|also|now|here|good|fine|great|sure|right|ok|okay|done|understood|agreed|got it)\b[\s,.:;!—–-]*)*`
/** Choices without their object, which was named before. Behind a clause that names it, "it" is clear. */
const OBJECT_UNKNOWN: readonly RegExp[] = [
  new RegExp(String.raw`\b(?:go|going|went|stick|stay|settled?) (?:with|on) ${POINTER}`, "iu"),
  new RegExp(
    String.raw`^${LEAD}(?:(?:(?:I|we)(?:['’](?:ll|ve|m|re))?|let me|let['’]s) )?(?:(?:will|have|am|are|going to|\p{L}+ly|just|also|now|then|still|only) )*(?!(?:since|because|as|if|when|while|where|although|though|after|before|with|without|from|for|given|whether|unless|until|got|did|than)\b)\p{L}+ (?:(?:with|for|on) )?${POINTER}`,
    "iu",
  ),
  new RegExp(
    String.raw`^(?:(?:since|because|as) )?(?:those|these|they|it|this|that)(?:['’]s|['’]re)?\b(?!.*\b(?:rather than|instead of|in favou?r of)\b).*\b(?:I|we)(?:['’](?:ll|ve)| will| have)?(?: \p{L}+ly)? \p{L}+ ${POINTER}`,
    "iu",
  ),
]

/** The same told in other words: a verdict on "them", what a simple function is, changes that only a number tells. */
const OBJECT_UNTOLD: readonly RegExp[] = [
  /^(?:\*\*)?(?:verdict|choice|my (?:pick|choice))\s*(?:\*\*)?:(?:\*\*)?\s*\p{L}+ (?:it|them|both|this|that|these|those)\b/iu,
  /^(?:since|because|as) (?:it|they)(?:['’](?:s|re)| is| are)\b(?!.*\b(?:rather than|instead of|in favou?r of)\b)[^`"“]*$/iu,
  /^(?:I|we)(?:['’](?:ll|ve)| will| have)?(?: \p{L}+ly)? \p{L}+ (?:both|all|these|those) (?:changes|edits|fixes|files|commits|lines|tests|versions)\b/iu,
]

/** Reports: why something is as it is, what else there is to say, what was checked, corrected or written down. */
const REPORT: readonly RegExp[] = [
  /^(?:that|this|which|it)(?:['’]s| is| was) (?:\w+ )?(?:why|how|what|where|because)\b/i,
  /^(?:(?:just|only|and) )?(?:(?:one|two|three|four|an?|some|my|the|last|first|final)\b[^,.;:—–]{0,30} ?)?\b(?:notes?|caveats?|remarks?|heads[- ]?up|things? (?:to|worth|you)|details?|observations?|fyi|side ?notes?)\b(?:[^,.;:—–]{0,40})?\s*[,:—–-]/i,
  /\b(?:because|since|as) (?:it|they|that|this|the \p{L}+|one) (?:was|were|is|are|had) (?:been )?(?:broken|wrong|stuck|missing|outdated|stale|incorrect|invalid|down)\b|\bso that\b.*\bagain\b/iu,
  /\bus(?:e|ed|ing)\b.* to (?:look|see|check|find|verify|inspect|debug|measure|confirm)\b/i,
  /^(?:checked|verified|confirmed|tested|reviewed|ticked|ran|pushed|committed)\b/i,
  /\b(?:record|document|note|mention|capture|list|report|flag)(?:ed|d|ing)? (?:it|them|this|that|these|those)\b/i,
  /\b(?:rather than|instead of) leav(?:e|ing) (?:it|them|(?:an?|the)\b.*)\b(?:false|stale|wrong|broken|misleading|inconsistent|outdated|contradict\w*)\b/i,
]

const english = (): Wording => ({
  smallWords: SMALL_WORDS.english,
  yes: [
    /\b(?:I|we)(?:['’]ve| have)?(?: just| now| also| finally| deliberately)? (?:decided|chose|chosen|opted|settled|agreed|picked(?! up| out| off| apart)|went with|landed on|rejected|ruled out|declined|ended up (?:with|using))\b/i,
    /\b(?:I|we)(?:['’]ll| will) (?:go|stick|stay) with\b|\blet['’]s (?:go|stick) with\b|\bgoing with\b|\bsettled on\b|\bsticking with\b/i,
    /\b(?:I|we)(?:['’]m|['’]re| am| are)(?: now| deliberately)? (?:choosing|picking|opting|settling on|deferring|dropping|declining|rejecting|ruling out)\b/i,
    new RegExp(
      String.raw`(?<!\b(?:that|reason|because|where|why|if) )\b(?:I|we)(?:['’](?:m|re)| am| are)(?: (?:just|also|now|therefore|deliberately))* ${MAKING}\b${RATHER}`,
      "iu",
    ),
    begins(
      "(?:decided|chose|opted|picked(?! up| out| off| apart)|went with|landed on|ruled out|choosing|option \\p{L}{0,6}\\d{0,2} it is)",
    ),
    // "Linen it is", but not "as it is".
    /^(?:\*\*)?(?!(?:what|as|that|because|where|there|here|who|why|if|when|yes|no|sure|indeed|maybe)\b|.*\bhow\b)(?:[^\s,.;:]+ ){1,6}(?<!\b(?:what|how|as|than|where|who|which|like|way|that|because|since|if|think|know|now|and|or|but|is|when|while|before|until|all|sure|course|here|there|maybe|perhaps|whatever) )it is(?:,? then)?(?:\*\*)?(?:[.!:;]|\s*[—–]|$)/i,
    /^(?:\*\*)?(?:verdict|choice|my (?:pick|choice)|chosen(?: approach)?)\s*(?:\*\*)?:(?:\*\*)?\s*(?:keep|use|go|take|stay|drop|skip|leave|stick|option|adopt|defer|switch)\b/i,
    new RegExp(String.raw`^(?:so )?(?:the|my|our) plan is to (?:${TAKE})\b`, "i"),
    /\b(?:final )?decision(?: (?:noted|recorded|made|taken))?\s*(?:\*\*)?:|\b(?:the|our|this) decision (?:is|was) to\b|\bnow decided\b/i,
    new RegExp(`${WE} (?:${TAKE}|${TOOK})\\b${REASON}`, "i"),
    new RegExp(`${WHO} (?:${TAKE}|${TOOK}|${MAKE}|${MADE})\\b${CONTRAST}`, "i"),
    new RegExp(
      `^(?:instead of|rather than|because|since)\\b.*,\\s+${WHO} (?:${TAKE}|${TOOK}|${MAKE}|${MADE})\\b`,
      "i",
    ),
    new RegExp(String.raw`^(?:instead of|rather than)\b.*,\s+I(?:['’]ll| will) (?!${NEXT}\b)\w`, "i"),
    new RegExp(
      String.raw`\bI(?:[’']ll| will)(?: (?:just|also|now|then|simply|therefore))* (?!${NEXT}\b)\p{L}+\b${CONTRAST}`,
      "iu",
    ),
    // "I'll pass it as a parameter instead" tells a step: of these verbs alone is it plain that something else is left.
    new RegExp(String.raw`${WE} (?:${TAKE})\b[^;]*\binstead[.!]?$`, "iu"),
    new RegExp(
      String.raw`\bI(?:[’']ll| will)(?: (?:just|also|now|simply))* (?!${NEXT}\b)\p{L}+\b[^;]*\bbut (?:keep|leave|skip)\b`,
      "iu",
    ),
    new RegExp(
      String.raw`(?<!\b(?:where|that|which|when) )\b(?:I|we)(?:['’]ve| have)? (?:deliberately|intentionally|consciously) (?!${NEXT}\b)\p{L}+`,
      "iu",
    ),
    /\b(?:I|we)(?:['’]ve| have)?(?: (?:also|only|just))* (?:left|kept) (?!(?:it|that|this|them)\b).{2,120}?\b(?:alone|as[ -](?:it )?(?:is|was)|untouched|unchanged)\b/i,
    // Without a reason only what is not done, or stays as it is.
    /\bI(?:['’]ll| will)(?: (?:just|simply|deliberately))? (?:keep|leave|skip|defer|drop)\b(?! (?:you|going|an eye|track|on|in|\w+ing|ahead|(?:this|that|it) in mind)\b)/i,
    /\bso (?:I|we)(?:['’]ve| have)?(?: (?:just|simply|deliberately))? (?:kept|left|skipped|deferred|dropped|stayed|stuck)\b/i,
    /\b(?:I|we)(?:['’]ve| have)?(?: now)? switched\b.*\b(?:to|from)\b/i,
    // Without a subject: "Deleted rather than moved", "Keeping both because …", "Skip it since …".
    /^(?:\*\*)?(?:skip|keep|leave|defer|drop|use)\b[^;]*\b(?:because|since)\b/i,
    /^(?:\*\*)?(?:keeping|leaving)\b.*\b(?:as[ -](?:it )?is|for now)\b/i,
    new RegExp(
      String.raw`^(?:\*\*)?(?:also |deliberately )?(?:(?:${TOOK}|using|keeping|leaving|skipping|deferring|dropping|sticking)\b(?:${CONTRAST}|${REASON})|(?:${MADE})\b${CONTRAST})`,
      "i",
    ),
  ],
  no: [
    /\?\s*$|\b(?:not|n['’]t|never|nothing)\b(?: \w+){0,3} (?:decided|chosen|settled|agreed|decide)\b|\bnothing was decided\b/i,
    // Advice, a choice left to the reader, a finding, a slip.
    plainWords(
      "worth (?:checking|asking|putting|flagging|noting)|(?:lever|option|way) (?:you|we) have|design decision: .*(?:versus|vs)|versus|say the word|let me know|tell me|(?<!per )your call|want me to|if you(?:['’]d| would)? (?:want|like|prefer|rather)|do you",
      "wrong|wrongly|mistaken(?:ly)?|accidentally|by (?:accident|mistake)|root cause|culprit",
    ),
    /\b(?:rather than|instead of) (?:assum|guess|infer|trust|rel(?:y|ied)|hop|speculat|wait|poll|reason|assert|argu|tak(?:e|ing) .* (?:on faith|for granted))\w*/i,
    // Not yet a choice, or what follows from one.
    new RegExp(
      String.raw`\b(?:probably|might|could)\b|\bif (?:I|we)\b|\bI(?:['’]ll| will)\b.*\bor (?:${TAKE}|${MAKE}|rename)\b`,
      "i",
    ),
    /^(?:\*\*)?(?:used|kept|left|stored|built|made|set) (?:by|for|as|in|to|when|up)\b/i,
    /^(?:the|this|that|my) (?:\w+ )?(?:issue|problem|bug|cause|reason|trouble|mistake)\b/i,
    // What is contrasted belongs to what the new thing does: "I'll add a method that reads by id instead of place".
    new RegExp(
      String.raw`${WE} (?:${MAKE}|create|implement|introduce)\b an? (?:[\w-]+ ){1,3}?(?:that|which)\b[^;]*?\b(?:rather than|instead of) (?!\w+ing\b)`,
      "iu",
    ),
    // How to look at something is no choice that binds.
    /\bus(?:e|ed|ing) (?:[`"]?(?:grep|rg|sed|awk|cat|head|tail)\b|(?:the |an? )?(?:\w+ )?(?:sub-?)?agents?\b)/i,
    // "I'll leave it as is": nobody knows what.
    /^I(?:['’]ll| will) \p{L}+(?: (?:it|that|this|them|those))?(?: (?:as[ -](?:it )?is|alone|out|there))?[.!]?$/iu,
    // A heading without its mark.
    /^(?:why|how) (?:I|we)\b[^.!:;,—]*$/i,
    /\b(?:deferred|open|pending|unresolved|outstanding|postponed) (?:decision|question)/i,
    /^(?:(?:now|so|first|okay|ok),? )?let me (?:first |now |also )?(?:dig|look|check|verify|see|find|trace|investigate|confirm|understand)\b/i,
    /^(?:if|should|whether|once|when|unless|before)\b|\b(?:if|whether|unless|before) (?:you|we|i|they)(?:['’]ve| have)? (?:decide|chose|choose|opt|settle|pick)/i,
    ...OBJECT_UNKNOWN,
    ...OBJECT_UNTOLD,
    ...REPORT,
    ...reportedInEnglish,
  ],
})

const german = (): Wording => ({
  smallWords: SMALL_WORDS.german,
  yes: [
    wholeWords(
      "(?:habe|haben|hab) (?:ich |wir )?(?:mich|uns) .{0,60}(?:entschieden|festgelegt)|(?:mich|uns) (?:für|gegen) .{1,60}entschieden",
      "entscheide(?:n)? (?:mich|uns) (?:für|gegen)|entschieden, (?:dass|weil|da)",
      "(?:ich|wir) (?:nehme|nehmen|verwende|verwenden|nutze|nutzen|setze|setzen|wähle|wählen|bleibe|bleiben|behalte|behalten|lasse|lassen) .{2,120}(?:weil|da|denn|statt)",
      "(?:nehme|nehmen|verwende|verwenden|nutze|nutzen|wähle|wählen|setze|setzen) (?:ich|wir) .{2,120}(?:weil|da|denn|statt)",
      "dann (?:also )?nehmen wir|(?:wir|ich) nehmen? (?:also|dann|jetzt|lieber)|nehmen wir also|bleibt es (?:also |damit |dann )?bei|(?:ich|wir) verzichten? auf|(?:haben|habe) (?:wir |ich )?(?:uns |mich )?.{0,60}geeinigt",
      "statt .{2,80} (?:nehme|nehmen|verwende|verwenden|nutze|nutzen|wähle|wählen|setze|setzen) (?:ich|wir)",
    ),
    /^(?:\*\*)?Entscheidung(?:\*\*)?:|^dann also \p{L}/iu,
  ],
  no: [
    /\?\s*$|(?<!\p{L})(?:noch nicht|nicht|nie) (?:\p{L}+ )?(?:entschieden|festgelegt)/iu,
    /^(?:ich|wir) \p{L}+ (?:es|ihn|dies)(?!\p{L})/iu,
    /^(?:wenn|falls|ob|sag|sobald)(?!\p{L})|(?<!\p{L})nehmen? (?:(?:ich|wir|mal|also) )*an(?:,|[.!]?$)/iu,
    ...reportedInGerman,
  ],
})

const spanish = (): Wording => ({
  smallWords: SMALL_WORDS.spanish,
  yes: [
    wholeWords(
      "(?:he|hemos) (?:decidido|elegido|optado|escogido)|decidí|decidimos|opté|optamos|elegí|elegimos|escogí|escogimos",
      "(?:uso|usamos|utilizo|utilizamos|(?:voy|vamos) a (?:usar|utilizar)|me quedo|nos quedamos|elijo|mantengo|mantenemos|dejo|dejamos) .{2,120}(?:porque|ya que|puesto que|pues|en (?:lugar|vez) de)",
      "(?:en lugar|en vez) de .{2,120}(?:porque|ya que|puesto que)",
    ),
    /^(?:\*\*)?Decisión(?:\*\*)?:/i,
  ],
  no: [
    /\?\s*$|^¿|(?<!\p{L})(?:no|aún no|todavía no|tampoco) (?:se )?(?:he|hemos|decidí|decidimos|elegí|elegimos)(?!\p{L})/iu,
    /^(?:si|cuando|dime|l[oa]s? (?:dejo|dejamos|mantengo|mantenemos|uso|usamos))(?!\p{L})/iu,
    /(?<!\p{L})se (?:ha )?(?:elegí|eligió|decide)(?!\p{L})/iu,
  ],
})

const chinese = (): Wording => ({
  smallWords: SMALL_WORDS.any,
  yes: [
    /^(?:最终)?(?:决定|结论)[：:]/,
    /(?:我们?|最终|最后|因此|所以|这里|于是|现在|这次)[^。？?]{0,8}(?:决定|选择|选用|选定|采用|改用|使用)/,
    /(?:用|使用|采用|改成).{1,30}(?:代替|而不是|而非).*(?:因为|由于)|(?:因为|由于).*(?:代替|而不是|而非|改用|选择|采用)/,
  ],
  no: [
    /[？?]\s*$|吗[。！]?$|还没|尚未|没有(?:决定|选)|未决定|由.{1,6}(?:决定|选择)|请|应该|取决|如何|怎么|如果|需要(?:先)?(?:决定|选择)|[先再]决定|不清楚/,
  ],
})

export const decisions = once(
  (): Wordings => ({ chinese: chinese(), latin: [english(), german(), spanish()] }),
)

/** Wordings of decisions: what the model settled, and what it found to be the cause. Pure. */
import { once } from "../util/once.ts"
import { begins, MARKS, type Wording, type Wordings, wholeWords } from "./wording.ts"

const english = (): Wording => ({
  marks: MARKS.english,
  yes: [
    /\b(?:I|we)(?:['’]ve| have)?(?: just| now| also| finally)? (?:decided|chose|chosen|opted|settled|agreed|picked|went with|ended up (?:with|using))\b/i,
    /\b(?:I|we)(?:['’]ll| will) (?:go|stick|stay) with\b|\blet['’]s (?:go|stick) with\b|\bgoing with\b|\bsettled on\b|\bsticking with\b/i,
    begins("(?:decided|chose|opted|picked|went with|choosing)"),
    /\b(?:final )?decision\s*(?:\*\*)?:|\b(?:the|our|this) decision (?:is|was) to\b|\bnow decided\b/i,
    /\b(?:instead of|rather than)\b(?! because).*\b(?:because|since|so that|as it)\b|\b(?:because|since)\b.*\b(?:instead of|rather than)\b(?! because)/i,
    /\b(?:I|we)(?:['’]ll use| will use|['’]m using|['’]re using| switched (?:to|from)|['’]ve switched (?:to|from))\b.*\b(?:because|since)\b/i,
    // "Turned out" alone reports a finding. It counts if it names a cause or what was done about it.
    /\bturn(?:s|ed) out\b.*(?:\b(?:the )?(?:cause|culprit|reason)\b|\b(?:breaks?|broke)\b|\bso (?:I|we)\b)/i,
    /\b(?:root cause|the (?:real|actual|underlying) (?:problem|issue|cause|bug|reason|culprit) (?:is|was)|the (?:problem|issue|bug|error|failure|crash) (?:is|was) caused by)\b/i,
  ],
  no: [
    /\?\s*$|\b(?:not|n['’]t|never|nothing)\b(?: \w+){0,3} (?:decided|chosen|settled|agreed|decide)\b|\bnothing was decided\b/i,
    /\b(?:un(?:known|clear)|find|finding|look(?:ing)? for|need|needs|identify|investigate|locate)\b.*\b(?:root cause|decision)|\broot cause\b.*\b(?:unknown|unclear|not (?:yet )?(?:known|clear|found))\b/i,
    // Advice, a choice left to the reader, a cause named by somebody else.
    /\bworth (?:checking|asking|putting|flagging|noting)\b|\b(?:lever|option|way) (?:you|we) have\b|\bdesign decision: .*\b(?:versus|vs)\b|\bstated (?:root )?cause\b/i,
    /\b(?:deferred|open|pending|unresolved|outstanding|postponed) (?:decision|question)/i,
    /^(?:(?:now|so|first|okay|ok),? )?let me (?:first |now |also )?(?:dig|look|check|verify|see|find|trace|investigate|confirm|understand)\b/i,
    /^(?:if|should|whether|once|when|unless|before)\b|\b(?:if|whether|unless) (?:you|we|i|they)(?:['’]ve| have)? (?:decide|chose|choose|opt|settle|pick)/i,
  ],
})

const german = (): Wording => ({
  marks: MARKS.german,
  yes: [
    wholeWords(
      "(?:habe|haben|hab) (?:ich |wir )?(?:mich|uns) .{0,60}(?:entschieden|festgelegt)|(?:mich|uns) (?:für|gegen) .{1,60}entschieden",
      "entscheide(?:n)? (?:mich|uns) (?:für|gegen)|entschieden, (?:dass|weil|da)",
      "(?:ich|wir) (?:nehme|nehmen|verwende|verwenden|nutze|nutzen|setze|setzen|wähle|wählen|bleibe|bleiben|behalte|behalten) .{2,120}(?:weil|da|denn|statt)",
      "(?:nehme|nehmen|verwende|verwenden|nutze|nutzen|wähle|wählen|setze|setzen) (?:ich|wir) .{2,120}(?:weil|da|denn|statt)",
      "(?:eigentliche|wahre|tatsächliche|die) Ursache (?:ist|war|liegt|lag)|es stellte sich heraus|stellt sich heraus",
    ),
    /^(?:\*\*)?Entscheidung(?:\*\*)?:/i,
  ],
  no: [
    /\?\s*$|(?<!\p{L})(?:noch nicht|nicht|nie) (?:\p{L}+ )?(?:entschieden|festgelegt)/iu,
    /Ursache .*(?:unbekannt|unklar|nicht (?:bekannt|klar))|^(?:wenn|falls|ob|sag|sobald)(?!\p{L})/iu,
  ],
})

const spanish = (): Wording => ({
  marks: MARKS.spanish,
  yes: [
    wholeWords(
      "(?:he|hemos) (?:decidido|elegido|optado|escogido)|decidí|decidimos|opté|optamos|elegí|elegimos|escogí|escogimos",
      "(?:uso|usamos|utilizo|utilizamos|(?:voy|vamos) a (?:usar|utilizar)|me quedo|nos quedamos|elijo|mantengo|mantenemos) .{2,120}(?:porque|ya que|puesto que|pues)",
      "(?:en lugar|en vez) de .{2,120}(?:porque|ya que|puesto que)",
      "la (?:verdadera )?causa(?: raíz| real| verdadera)? (?:es|era|fue|estaba|está)|resulta que|resultó que",
    ),
    /^(?:\*\*)?Decisión(?:\*\*)?:/i,
  ],
  no: [
    /\?\s*$|^¿|(?<!\p{L})(?:no|aún no|todavía no|tampoco) (?:se )?(?:he|hemos|decidí|decidimos|elegí|elegimos)(?!\p{L})/iu,
    /causa .*(?:desconoc|no se sabe|no está clara)|(?<!\p{L})(?:encontrar|buscar|hallar|averiguar) la causa|^(?:si|cuando|dime)(?!\p{L})/iu,
    /(?<!\p{L})se (?:ha )?(?:elegí|eligió|decide)(?!\p{L})/iu,
  ],
})

const chinese = (): Wording => ({
  marks: MARKS.any,
  yes: [
    /^(?:最终)?(?:决定|结论)[：:]/,
    /(?:我们?|最终|最后|因此|所以|这里|于是|现在|这次)[^。？?]{0,8}(?:决定|选择|选用|选定|采用|改用|使用)/,
    /(?:用|使用|采用|改成).{1,30}(?:代替|而不是|而非).*(?:因为|由于)|(?:因为|由于).*(?:代替|而不是|而非|改用|选择|采用)/,
    /(?:根本|真正的?|实际|(?:问题|错误|失败|报错|崩溃)的)原因(?:是|在于|就是)/,
  ],
  no: [
    /[？?]\s*$|吗[。！]?$|还没|尚未|没有(?:决定|选)|未决定|由.{1,6}(?:决定|选择)|请|应该|取决|如何|怎么|如果|需要(?:先)?(?:决定|选择)|[先再]决定|不清楚/,
  ],
})

export const decisions = once(
  (): Wordings => ({ chinese: chinese(), latin: [english(), german(), spanish()] }),
)

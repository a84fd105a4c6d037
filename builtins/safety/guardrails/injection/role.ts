import type { Family } from './phrases.ts'

const FREE =
  '(?:restrictions?|limitations?|filters?|guidelines|rules|constraints|polic(?:y|ies)|censorship|boundaries|limits|safeguards|morals?|ethics|inhibitions)'
const WILD =
  '(?:dan|stan|aim|dude|evil|unrestricted|unfiltered|uncensored|jailbroken|amoral|unethical|malicious|rogue|sudo|god|developer|opposite|chaos)'

/** Claims that the model is another one that has no rules. */
export const ROLE: Family = {
  name: 'role_reassignment',
  words: [
    `you(?: are|.?re) (?:now|henceforth|from now on) (?:(?:an?|the|my|called|named|known as|going to (?:be|act)|acting as|in|no longer) )?(?:[\\w-]{1,14} ){0,3}(?:assistant|ai|a\\.i|bot|chatbot|language model|llm|gpt\\w{0,6}|hacker|persona|terminal|shell|interpreter|villain|pirate|${WILD}(?: mode)?)\\b`,
    `you(?: are|.?re)(?: now)? (?:completely |totally |finally )?(?:free (?:of|from)|no longer (?:bound|restricted|limited|constrained|required|obliged|subject|under|an? (?:ai|assistant|language)|chatgpt|claude)|not bound by|not (?:restricted|limited|constrained) by)\\b`,
    `(?:you|ai|assistant|model|bot|chatbot|that|which|who|with)(?: (?:have|has|had|having))? (?:no|without|zero)(?: any)? (?:[\\w-]{1,14} ){0,2}${FREE}(?: (?:whatsoever|at all|and|or)|[,.;!])`,
    `(?:without|free (?:of|from)|ignoring|regardless of) (?:any |all |your |the |its )?(?:ethical|moral|content|safety|openai.?s?|legal|usual|normal|built.in|programmed) (?:[\\w-]{1,14} ){0,3}${FREE}`,
    `(?:act|behave|respond|answer|pretend|speak|reply) as (?:if|though) (?:you|there)(?: (?:are|were|have|had|is))? (?:no|not|never|un\\w{3,14}|free|without|able to do anything)\\b`,
    `do anything now\\b`,
    `(?:act|behave|respond|answer|pretend|roleplay|operate|you are|you will be|become|enter|enable|activate|switch to|go into|turn on|unlock|engage|simulate|stay in|this is) (?:as |to be |like |in |into |the |an? |your |now ){0,3}${WILD} (?:mode|persona|ai|assistant|bot|version|chatbot|gpt|character|model)\\b`,
    `(?:(?:god|dan|jailbreak|sudo|unrestricted) mode (?:enabled|activated|on|engaged|output|unlocked|is now)|developer mode (?:output|with))\\b`,
    `(?:act|respond|answer|pretend to be|you are|as) (?:as |like )?(?:dan|stan|chaosgpt|evil.?bot|dude|betterdan)\\b`,
    `jail.?br(?:eak|oken) (?:yourself|mode|prompt|this|the (?:model|ai|assistant|chatbot)|response|version)`,
    `(?:never|don.?t|do not|cannot|can.?t|must not|not allowed to) (?:refuse|decline|say (?:no|you can.?t|that you can))(?: \\w{1,12}){0,3} (?:requests?|orders?|commands?|questions?|anything|instructions?|me|prompts?|to answer|to comply)`,
    `(?:stay|remain|always be|don.?t break|never break|do not break|without breaking) (?:in |the |your |from )?character\\b`,
    // German, French, Spanish, Italian, Portuguese
    `du bist (?:jetzt|nun|ab sofort|ab jetzt|nicht (?:mehr|länger)|kein\\w{0,2})(?: … (?:assistent|ki|bot|chatbot|modell|hacker|einschränkung\\w{0,2}|regeln|gebunden|filter|dan|modus)\\b| (?:ein|eine|der|die|frei)\\b)`,
    `(?:ohne|frei von) (?:jegliche\\w? |alle\\w? |ethische\\w? |moralische\\w? ){0,2}(?:einschränkungen|beschränkungen|filter|zensur|regeln|richtlinien)\\b`,
    `(?:tu|tut|handle|verhalte dich|antworte) (?:so )?\\W?als (?:ob|wärst|wärest|hättest|seist)\\b`,
    `tu es (?:maintenant|désormais|dorénavant) (?:un|une|le|la|libre|en mode)\\b`,
    `(?:sans|libre de) (?:aucune?|toute?s?) (?:restrictions?|limites?|limitations?|censure|règles?|filtres?)\\b`,
    `(?:ahora (?:eres|serás)|eres ahora) (?:un|una|el|la|libre|dan)\\b`,
    `(?:sin|libre de) (?:ninguna?|ningún|toda) (?:restricci[oó]n(?:es)?|l[ií]mites?|limitaci[oó]n(?:es)?|censura|reglas?|filtros?)\\b`,
    `(?:ora|adesso) sei (?:un|una|il|la|libero|dan)\\b`,
    `(?:senza|libero da) (?:alcuna?|nessuna?|ogni|qualsiasi) (?:restrizion[ei]|limit[ei]|limitazion[ei]|censura|regol[ae]|filtr[oi])\\b`,
    `(?:agora )?você (?:agora )?(?:é|será) (?:agora )?(?:um|uma) (?:\\w{1,14} ){0,3}(?:ia|assistente|robô|hacker|bot|modelo)\\b`,
    `sem (?:nenhuma?|quaisquer|qualquer) (?:restriç(?:ão|ões)|limites?|limitaç(?:ão|ões)|censura|regras?|filtros?)\\b`,
  ],
  signs: [
    `(?:ты|вы) (?:теперь|сейчас|больше не)…(?:ассистент|ии|бот|модель|хакер|ограничен|dan|свобод)`,
    `без (?:каких-либо |любых |всяких )?(?:ограничений|цензуры|фильтров)`,
    `(?:你|您)(?:现在|現在|已经|已經)?(?:是|不再是|不受|没有|沒有)…(?:任何限制|不受限制|没有限制|限制的|约束|約束|dan|开发者模式|開發者模式|越狱|越獄)`,
    `(?:制限|制約|フィルター|規制|検閲)(?:の|が|は|も)?(?:ない|なし|無し|無い|受けない|解除)`,
    `(?:開発者|デベロッパー|脱獄)モード`,
  ],
}

/** Role play is often legitimate, so it is reported and never blocked. */
export const ROLE_PLAY: Family = {
  name: 'role_play',
  flagOnly: true,
  words: [
    `i (?:want|need|would like|.d like) you to (?:act|behave|pretend|respond|answer|play|roleplay|simulate|be|become) (?:as|like|to be|the role|a|an|my|that)\\b`,
    `(?:you (?:will|shall|must|should|are going to)|please|now|and) (?:act|pretend|roleplay|role.play|behave) (?:to be|that you|(?:as|like) (?:an?|the|my|if you))\\b`,
    `(?:let.?s|we will|we are going to) (?:play a game|role.?play|pretend|imagine)\\b`,
    `(?:imagine|pretend|act as if|act like)(?: that)? (?:to be|you.?re|you (?:are|were)) (?:an?|the|my|not|no)\\b`,
    `my (?:\\w{1,14} ){0,2}grand(?:ma|mother|pa|father) (?:\\w{1,14} ){0,3}(?:used to|would|always)\\b`,
    `(?:ich (?:möchte|will|würde gern\\w?)|stell dir vor)\\W{1,3}(?:dass )?(?:du|sie) … (?:als|wie|ein\\w?|wärst|bist|seist)\\b`,
    `(?:je veux que tu|je voudrais que tu|imagine que tu|fais comme si tu|quiero que (?:actúes|te comportes|seas)|imagina que (?:eres|es)|haz como si|voglio che tu|immagina di essere|fingi di essere|quero que você|imagine que você|finja (?:ser|que))\\b`,
  ],
  signs: [
    `(?:представь|притворись|вообрази)(?:те)?(?:сь)?[, ]{1,2}что (?:ты|вы)`,
    `(?:请你|請你|我想让你|我希望你|假装你|假裝你|想象你|扮演)…(?:扮演|充当|充當|作为|作為|是一)`,
    `(?:あなた|君)…(?:のふりを|になりきって|を演じて|として振る舞)`,
  ],
}

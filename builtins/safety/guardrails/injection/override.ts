import type { Family } from './phrases.ts'

const IGNORE =
  '(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|neglect|dismiss|discard|overlook|set aside|pay no attention to|(?:stop|quit) (?:following|obeying|listening to)|(?:do not|don.?t|never|no longer) (?:follow|obey|listen to|adhere to|comply with|stick to|care about))'
const FORCE =
  '(?:overrid(?:e|ing)|overrul(?:e|ing)|overwrit(?:e|ing)|bypass(?:ing)?|circumvent|supersed(?:e|ing)|nullif(?:y|ied)|void|cancel|revoke|erase|delete|drop|clear|reset|wipe|abandon|unlearn|suspend|turn off|disable|deactivate|break|violate|escape)'
const BEFORE =
  '(?:previous(?:ly)?|prior|above|earlier|preceding|foregoing|past|former|initial|original|existing|current|old|first)'
const ORDERS =
  '(?:instructions?|prompts?|directives?|directions|guidelines?|guardrails?|rules?|commands?|orders|programming|restrictions?|constraints?|polic(?:y|ies)|limitations?|system messages?)'
const TALK =
  '(?:contexts?|information|texts?|conversations?|assignments?|tasks?|contents?|requests?|statements?|inputs?|discussions?|inquir(?:y|ies)|questions|messages|training|everything|all)'

/** Requests to ignore earlier instructions. */
export const OVERRIDE: Family = {
  name: 'override_instructions',
  words: [
    `${IGNORE} … ${BEFORE} … ${ORDERS}`,
    `${IGNORE} (?:(?:any|all|every|each|both|most)(?: of)? )?(?:the|these|those|your|its|any|all|every) (?:[\\w-]{1,14} ){0,2}${ORDERS}\\b(?! (?:on|for|in the|of the) )`,
    `${IGNORE} … ${ORDERS} … (?:above|before|so far|previously|prior|earlier|you (?:were|have been|got|received))`,
    `${IGNORE} (?:all|any|every|everything|the|your|of|these|those|my)? ?(?:of )?(?:the |your |these |our )?${BEFORE} ${TALK}`,
    `${IGNORE} (?:about )?(?:everything|anything|all(?: of)?(?: (?:this|that|it|the things?))?|whatever|what(?:ever)?)(?: that)? (?:\\w{1,12} ){0,4}(?:before|above|prior|previously|so far|until now|up to now|told you|said|were told|have been told|learned|were taught|been given|know about yourself)`,
    `${IGNORE} (?:everything|all(?: of)?(?: (?:this|that))?|the (?:above|previous))(?: (?:you know|and|but|then|now|instead)\\b|\\W{0,2}[,;:.]\\W?(?:and |then )?(?:now|instead|tell|show|say|print|write|do)\\b)`,
    `(?:sorry|ok(?:ay)?|actually|now|please)\\W{1,3}(?:just )?forget (?:about )?(?:all|everything|it all)(?: (?:of )?(?:this|that))?\\b`,
    `${FORCE} (?:(?:any|all|every|each)(?: of)? )?(?:the |your |these |its |my |our )?(?:previous|prior|original|initial|your|system|safety|developer|ethic\\w{0,3}|content|moderation|openai|hidden) (?:[\\w-]{1,14} )?(?:${ORDERS}|filters?|safeguards?|protocols?|measures|training|checks?|memory)\\b`,
    `${FORCE} your (?:own )?(?:${ORDERS}|filters?|safeguards?|training|memory|persona|character)\\b`,
    `(?:in place of|instead of|rather than) (?:following |obeying )?(?:your|(?:the|any|all) (?:previous|prior|original|initial|system)) (?:instructions?|prompts?|directives?|guidelines)`,
    `(?:your|the) (?:new|real|true|actual|only|revised) (?:system )?(?:task|goal|instructions?|purpose|role|job|objective|mission|directive|prompt|orders?|priority) (?:is|are|will be|shall be)(?: now)?\\b(?! (?:due|ready|attached|done|complete|overdue|finished|late|available|still|not ))`,
    `(?:here (?:are|is)|these are|this is) your (?:new|real|true|actual|updated|revised) (?:task|instructions?|orders?|prompt|directives?|rules)\\b`,
    `(?:new|updated|real|true|actual|hidden|secret|revised|overriding) (?:system |important )?(?:instructions?|directives?|prompt|orders?)\\W{0,2}:`,
    `(?:now |let.?s )?(?:get|move|switch|turn|focus|go|change) (?:on )?to (?:a|the|your|my) (?:new|real|actual|different) (?:task|assignment|instructions?|objective)\\b`,
    `from (?:now|here|this (?:point|moment)) (?:on|onwards?|forward|forth)?\\W{0,3}(?:you (?:are (?:an?|to|no|my|the)|act|must|shall|have to|will (?:act|be|behave|respond|answer|reply|speak|pretend|obey|only|do|ignore|play|always|never|not))|ignore|disregard|forget|obey|pretend|act|respond|answer|reply|speak)\\b`,
    `(?:previous|prior|above|earlier|system|original|initial) (?:instructions?|prompts?|directives?|rules|messages?|guidelines|tasks?|constraints) (?:(?:was|were|is|are|has been|have been|should be|must be|can be) )?(?:now )?(?:null|void|obsolete|cancel(?:l?ed)|revoked|superseded|overridden|no longer (?:valid|appl\\w{1,4}|relevant|in effect)|ignored|disregarded|forgotten|a (?:test|joke|lie|mistake))`,
    `(?:pretend|act as if|assume|imagine) … (?:told you|said|instructions?|prompts?|conversation|was written) … (?:never|didn.?t|did not|doesn.?t|does not|isn.?t) (?:happen|exist|apply|there|matter)`,
    `(?:start|begin) (?:over|from scratch|anew|afresh)\\W{1,3}(?:and )?(?:ignor|forget|pretend|disregard|with (?:a )?new (?:instructions?|rules|role|prompt))`,
    `(?:stop|cease|quit) (?:doing|being|acting|what you|all) … \\binstead\\b`,
    `(?:answer|follow|obey|execute|only (?:listen|respond) to) (?:only )?(?:the )?(?:following|my|this|these) (?:instructions?|commands?|orders?|prompts?) (?:instead|only|and (?:ignore|nothing|no other|disregard))`,
    // German
    `(?:ignorier\\w{0,3}|vergiss|vergesst|vergessen|missacht\\w{0,3}|uberschreib\\w{0,3}|übergeh\\w{0,3}|umgeh\\w{0,3}|verwirf) … (?:all\\w{0,2}|sämtliche\\w{0,2}|vorherig\\w{0,2}|bisherig\\w{0,2}|vorig\\w{0,2}|früher\\w{0,3}|obig\\w{0,2}|vorangegangen\\w{0,2}|vorangehend\\w{0,2}|ursprünglich\\w{0,2}|deine\\w?|ihre\\w?|diese\\w?) … (?:anweisung\\w{0,2}|instruktion\\w{0,2}|befehl\\w{0,2}|regeln?|vorgaben?|richtlinien?|prompts?|texte?|informationen|aufgaben?|aufträge?|auftrag|anordnungen|beschränkungen|eingaben?|systemprompt)`,
    `(?:ignorier\\w{0,3}|vergiss|vergesst|vergessen sie) (?:doch |bitte |jetzt |nun |einfach |mal )?(?:alles|das alles|all das|das (?:obige|vorige|bisherige))\\b`,
    `(?:anweisung\\w{0,2}|instruktion\\w{0,2}|befehl\\w{0,2}|regeln|vorgaben) … (?:davor|zuvor|vorher|bisher|oben)\\W … (?:ignorier|vergiss|vergessen)`,
    `(?:folge|befolge|beachte|hör\\w{0,2} auf) … (?:anweisungen|regeln|vorgaben|instruktionen) … (?:nicht mehr|nicht länger|keine\\w?)\\b`,
    `(?:ab (?:jetzt|sofort|nun)|von nun an) (?:bist|wirst|sollst|musst|darfst|antworte\\w{0,2}|sind sie|antworten sie)\\b`,
    `(?:deine|ihre) (?:neue\\w?|wahre\\w?|eigentliche\\w?) (?:aufgabe|anweisung(?:en)?|rolle|mission) (?:ist|sind|lautet|lauten)`,
    `(?:jetzt|nun) alles auf anfang\\b`,
    // French
    `(?:ignor(?:e|ez|er|ons)|oubli(?:e|ez|er|ons)|néglig(?:e|ez)|ne (?:tiens|tenez|tiens plus|tenez plus) (?:pas |plus )?compte|outrepass\\w{1,3}|contourn\\w{1,3}) … (?:instructions?|consignes?|directives?|règles?|ordres?|prompts?|commandes?|messages?|limitations?)\\b … (?:précéden\\w{1,4}|antérieur\\w{0,3}|ci.dessus|initial\\w{0,3}|d.avant|reçues?|données?)`,
    `(?:ignor(?:e|ez)|oubli(?:e|ez)) (?:tout(?:es?)?|tous) (?:ce qui|ce que|les|tes|vos|mes|cela|ça) … (?:précéd\\w{0,4}|avant|dit|instructions?|consignes?|règles|dessus)`,
    `(?:ignor(?:e|ez)|oubli(?:e|ez)) (?:tes|vos) (?:instructions?|consignes?|directives?|règles?|restrictions)`,
    `(?:à partir de maintenant|désormais|dorénavant)\\W{1,3}(?:tu (?:es|vas|dois|seras)|vous (?:êtes|allez|devez|serez))`,
    // Spanish
    `(?:ignor(?:a|e|ar|en|ad)|olvid(?:a|e|ar|en|ad)|omit(?:e|a|ir)|descart(?:a|e|ar)|desatiend\\w|no (?:sigas|siga|hagas caso|tengas en cuenta|obedezcas)|hacer? caso omiso) … (?:instruccion(?:es)?|órdenes|reglas?|indicaciones|directrices|mensajes?|prompts?|restricciones|comandos?|textos?)\\b(?: … (?:anterior(?:es)?|previ[ao]s?|de arriba|iniciales|originales|recibid[ao]s|dad[ao]s))?`,
    `(?:ignor(?:a|e)|olvid(?:a|e)|olvídate de) (?:todo|todo eso|lo) (?:lo )?(?:anterior|que|dicho|de antes)`,
    `(?:a partir de ahora|desde ahora|de ahora en adelante)\\W{1,3}(?:eres|serás|vas a|debes|actúa|actuarás|responde|usted)`,
    // Italian
    `(?:ignor(?:a|are|ate|i)|dimentic(?:a|are|ate|hi)|scord(?:a|ati|are)|trascur(?:a|are)|non (?:seguire|considerare|tenere conto)) … (?:istruzion[ei]|regol[ae]|ordin[ei]|comand[oi]|direttiv[ae]|indicazioni|prompt|messaggi|restrizioni)\\b(?: … (?:precedent[ei]|sopra|prima|inizial[ei]|original[ei]|ricevut[ei]))?`,
    `(?:ignora|dimentica(?:ti)?|scorda(?:ti)?) (?:di )?(?:tutto|tutto ciò|tutto quello|quanto) (?:che|detto|il|quello|scritto|prima|sopra)`,
    `(?:d.ora in poi|da (?:ora|adesso) in (?:poi|avanti)|da questo momento)\\W{1,3}(?:sei|sarai|devi|agisci|rispondi|ti comporterai)`,
    // Portuguese
    `(?:ignor(?:e|a|ar|em)|esqueç(?:a|am)|esquece(?:r)?|desconsider(?:e|a|ar)|desprez(?:e|a)|não (?:siga|sigas|obedeça|considere)) … (?:instruções|instrução|regras?|ordens|comandos?|diretrizes|orientações|prompts?|mensagens|restrições)\\b(?: … (?:anterior(?:es)?|prévi[ao]s|acima|iniciais|originais|recebidas|dadas))?`,
    `(?:ignore|esqueça|esquece|desconsidere) (?:de )?(?:tudo|tudo isso|o) (?:o )?(?:que|anterior|acima|isso|dito)`,
    `(?:a partir de agora|de agora em diante|doravante)\\W{1,3}(?:você|voce|tu|és|será|aja|responda)`,
  ],
  signs: [
    // Russian
    `(?:игнорируй|проигнорируй|забудь|отбрось|отмени|не следуй|не выполняй|не обращай внимания)…(?:предыдущ|прежн|прошл|все|всё|выше|свои|твои|ваши|эти)…(?:инструкци|указани|правил|команд|приказ|промпт|сообщени|ограничени|задани|контекст)`,
    `(?:игнорируй|забудь)(?:те)? (?:обо |про )?(?:всё|все|то)(?:,? что| сказанное| написанное| вышесказанное| предыдущее| выше)`,
    `(?:с этого момента|отныне|теперь)…(?:ты|вы) (?:- |больше не|должен|должны|будешь|будете|являешься)`,
    // Chinese, simplified and traditional
    `(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要理會|抛弃|放弃|绕过|繞過|覆盖|不再遵守|不要遵守)…(?:之前|先前|以前|以上|上面|上述|前面|前述|所有|一切|全部|原有|原来|你的|系统|系統)…(?:指令|指示|提示|规则|規則|命令|说明|說明|要求|内容|內容|限制|对话|對話|设定|設定)`,
    `(?:从现在开始|從現在開始|从现在起|從現在起|现在起)[，,]? ?(?:你|您)(?:是|就是|将|將|必须|必須|要|不再|只)`,
    // Japanese
    `(?:これまで|今まで|以前|上記|前|以上|先|すべて|全て|元|システム)…(?:指示|命令|プロンプト|ルール|指令|規則|制約|設定|内容|会話)…(?:無視|忘れ|破棄|上書き|従わな|取り消)`,
    `(?:今|これ)から(?:は)?[、,]?…(?:あなた|君|きみ|お前)は…(?:です|だ|として|になり)`,
    // Korean
    `(?:이전|앞|위|모든|지금까지|기존)…(?:지시|명령|프롬프트|규칙|지침)…(?:무시|잊)`,
  ],
}

import type { Family } from './phrases.ts'

const TELL =
  '(?:show|reveal|print|repeat|output|display|tell|give|leak|dump|expose|share|write|list|return|send|provide|disclose|recite|copy|paste|summari[sz]e|translate|spell|encode|divulge|echo|describe|explain|state|read|see|know|get|extract|fetch|quote|reproduce)'
const PROMPT =
  '(?:prompts?|instructions?|directives?|guidelines|rules|messages?|preamble|configuration|context|programming)'
const SECRET = '(?:hidden|secret|internal|confidential|underlying|pre.?prompt|base|developer|built.?in)'

/** Requests to reveal the instructions to the model. */
export const EXTRACTION: Family = {
  name: 'prompt_extraction',
  words: [
    `${TELL} … your (?:[\\w-]{1,14} ){0,3}(?:prompts?|instructions?|directives?|system messages?|guidelines|programming|prompt texts?|initiali[sz]ation)\\b`,
    `${TELL} … (?:your|the|its|this|any|all) (?:[\\w-]{1,14} ){0,2}${SECRET} (?:[\\w-]{1,14} ){0,2}${PROMPT}\\b`,
    `${TELL} … (?:your|the|its|this|any|all) (?:[\\w-]{1,14} ){0,2}system (?:prompts?|instructions?|directives?|messages?|texts?)\\b`,
    `${TELL} … (?:the|your|all|any|everything|every|those|these|all of the) (?:[\\w-]{1,14} ){0,3}(?:text|words?|sentences?|content|phrases?|lines?|prompts?|instructions?|messages?|everything|tokens?) (?:(?:that (?:was|were|is|are|came|comes?|appears?|stands?) )?(?:written |given |placed |listed |provided )?)?(?:above|before (?:this|that|the|my|our)|prior to|so far|preceding)`,
    `${TELL} (?:me |us )?(?:everything|all|anything) (?:that (?:is|was|came|stands) )?(?:above|before this|so far|in your (?:context|memory|prompt))`,
    `(?:what (?:is|are|was|were|.s)|what does|how (?:does|do|did|is|was|are)) (?:the |your |its )(?:[\\w-]{1,14} ){0,2}(?:system |initial |original |hidden |secret |first |exact |full )(?:[\\w-]{1,14} ){0,2}(?:prompts?|instructions?|messages?|directives?)\\b`,
    `what (?:is|are|was|were|.s) your (?:[\\w-]{1,14} ){0,2}(?:prompts?|instructions?|directives?)\\b`,
    `what (?:was|were|is) (?:the|my|your|our) (?:very )?(?:first|previous|initial|last|beginning|start)(?: of (?:the|this|our|your))? (?:prompt|message|instruction|sentence|words?|conversation|input)`,
    `(?:were|are|have) you (?:\\w{1,12} ){0,2}(?:told|instructed|programmed|prompted|given) (?:not )?to(?: (?:do|say|hide|reveal|keep|conceal))`,
    `(?:beginning|start|top|first (?:line|words?|sentence)) of (?:this|our|the|your) (?:conversation|prompt|chat|instructions)\\b`,
    `(?:all|full|whole|entire|complete|exact|original|verbatim) (?:of |text of |copy of )?(?:your|the system|the initial) (?:prompts?|instructions?)\\b`,
    `(?:prompt|instructions?) (?:leak(?:ing|age)?|extraction|disclosure) (?:attack|mode|test)`,
    `(?:verbatim|word for word|exactly as (?:written|given)) … (?:prompts?|instructions)\\b`,
    // German, French, Spanish, Italian, Portuguese
    `(?:zeig\\w{0,3}|nenn\\w{0,3}|gib|geben sie|wiederhol\\w{0,3}|verrat\\w{0,3}|druck\\w{0,3}|schreib\\w{0,3}|sag\\w{0,2}|lies|liste|offenbar\\w{0,2}|wie (?:lautet|lauten|war|waren|ist|sind)|was (?:ist|sind|war|waren)) … (?:dein\\w{0,2}|ihr\\w{0,2}|den|die|das|alle\\w?) (?:\\w{1,16} ){0,3}(?:prompts?|prompttexte?|system.?prompts?|systemanweisung\\w{0,2}|anweisungen|instruktionen|systemnachricht|(?:ersten|anfängliche\\w?|ursprüngliche\\w?|initiale\\w?) (?:texte?|befehle?|nachrichten?|eingaben?))\\b`,
    `(?:zeig\\w{0,3}|nenn\\w{0,3}|gib|wiederhol\\w{0,3}) … (?:texte?|anweisungen|wörter|worte|sätze?) … (?:am anfang|von anfang|zu beginn|oben|davor)\\b`,
    `(?:montr\\w{1,3}|révèl\\w{1,3}|affich\\w{1,3}|répèt\\w{1,3}|répét\\w{1,3}|donn\\w{1,3}|dis|dites|écri\\w{1,4}|quel(?:le)?s? (?:est|sont|était|étaient)) … (?:tes|ton|vos|votre|le|les) (?:\\w{1,14} ){0,2}(?:prompts?|instructions?|consignes?|directives?)(?: (?:système|initial\\w{0,3}|secr\\w{1,4}|cach\\w{1,4}|complèt\\w{0,3}|d.origine))?\\b`,
    `(?:muestr\\w{1,3}|muéstr\\w{1,4}|revel\\w{1,3}|repit\\w{1,3}|imprim\\w{1,3}|dime|diga\\w{0,2}|escrib\\w{1,3}|cu[aá]l(?:es)? (?:es|son|eran?|fue)) … (?:tus?|sus?|el|las|los) (?:\\w{1,14} ){0,2}(?:prompts?|instrucciones|indicaciones|directrices)\\b`,
    `(?:mostra\\w{0,3}|rivela\\w{0,3}|ripet\\w{1,3}|stampa\\w{0,3}|dimmi|scriv\\w{1,3}|qual[ei]? (?:è|sono|era|erano)) … (?:tu[eoai]{1,2}|vostr[eoai]|il|le|i) (?:\\w{1,14} ){0,2}(?:prompts?|istruzioni|direttive)(?: (?:di sistema|inizial\\w|segret\\w|nascost\\w|original\\w))?\\b`,
    `(?:mostr\\w{1,3}|revel\\w{1,3}|repit\\w{1,3}|imprim\\w{1,3}|diga\\w{0,2}|escrev\\w{1,3}|qua(?:l|is) (?:é|são|era|eram)) … (?:seus?|suas?|teus?|tuas?|o|as|os) (?:\\w{1,14} ){0,2}(?:prompts?|instruções|diretrizes)(?: (?:do sistema|inicia\\w{1,2}|secret\\w{1,2}|ocult\\w{1,2}|origina\\w{1,2}))?\\b`,
  ],
  signs: [
    `(?:покажи|выведи|повтори|раскрой|напиши|расскажи|назови|какие|какой|каков)…(?:систем|сво|тво|ваш|исходн|начальн|скрыт|первоначальн)…(?:промпт|инструкци|указани|сообщени)`,
    `(?:显示|顯示|告诉我|告訴我|输出|輸出|重复|重複|打印|列出|泄露|透露|说出|說出|展示|给我|給我|写出|什么是|是什么)…(?:系统|系統|初始|原始|隐藏|隱藏|最初|你的|上面|以上|内部)…(?:提示|指令|指示|设定|設定|prompt|消息|文字)`,
    `(?:你的|系统|系統|初始)(?:的)?(?:提示词|提示詞|指令|prompt|系统提示|系統提示)(?:是|有)(?:什么|什麼|哪些)`,
    `(?:システム|初期|最初|隠され|内部|あなた|元|上記)…(?:プロンプト|指示|命令|メッセージ|設定)…(?:見せ|教え|表示|出力|繰り返|開示|書い|明かし|述べ)`,
  ],
}

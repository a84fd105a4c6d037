import type { Family } from './phrases.ts'

/** Text that imitates the surrounding prompt: tokens of chat templates, beginnings and ends of prompts, role names. */
export const FORGERY: Family = {
  name: 'fake_delimiters',
  words: [
    `(?:end|stop|beginning|begin|start) (?:of )?(?:the )?(?:system|initial|original) (?:prompt|instructions?|message|context)\\b`,
  ],
  marks: [
    '<\\|(?:im_start|im_end|im_sep|system|user|assistant|developer|endoftext|begin_of_text|end_of_text|start_header_id|end_header_id|eot_id|eom_id|start|end|channel|message|python_tag|end_of_turn|tool_call|endofprompt|fim_\\w{3,8})\\|>',
    '<(?:start_of_turn|end_of_turn)>',
    '\\[/?inst\\]',
    '<</?sys>>',
    '</?(?:system|assistant|developer)[_-](?:prompt|message|instructions?|note)>',
    '</?(?:user_(?:input|query|message|prompt)|untrusted\\w{0,12}|untrusted[_-]\\w{1,12}|function_calls|function_results|tool_calls?|tool_response|tool_result|antml:\\w{2,20})>',
    '(?:^|\\n) {0,4}#{2,4} {0,2}(?:instruct(?:ion)?s?|system|assistant|human|new instructions?|system prompt) ?:',
    '(?:^|\\n) {0,4}\\[?(?:system|developer|admin|root)(?: (?:message|prompt|note|override|update|instructions?|alert))?\\]?\\W{0,2}[:\\]>][\\s"*]{0,4}(?:you (?:are|must|will|should|now|have)|ignore|disregard|forget|new |override|the (?:user|assistant|ai|previous|above)|all |from now|do not|never|always|reveal|grant|enable|disable|please (?:ignore|disregard|reveal))',
    '\\n\\n(?:human|assistant): ',
    '\\[(?:system|user|assistant)\\]\\(#\\w{1,20}\\)',
    '\\[(?:system|admin|developer|assistant|root) (?:message|note|override|prompt|instructions?|update|command)\\b',
    '(?<![-=#*])[-=#*]{3,80} {0,2}(?:end|stop|begin|start) (?:of )?(?:the )?(?:user |system |untrusted |external |new )?(?:prompt|input|instructions?|context|documents?|conversation|query|text|data|task)\\b',
    '(?:^|\\n) {0,4}[-=#*]{2,80} {0,2}end[ -]{0,2}[-=#*]{2}',
    '(?:^|\\n) {0,4}(?:user|human) ?: [^\\n]{1,200}\\n{1,2} {0,4}(?:agent|assistant|ai|bot) ?: [^\\n]{1,200}\\n{1,2} {0,4}(?:user|human) ?:',
  ],
}

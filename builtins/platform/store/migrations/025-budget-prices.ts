/** What a call may cost for which too little is left, and the spend of models whose price is unknown. */
export const budgetPrices = `
ALTER TABLE budget ADD COLUMN tight_micros INTEGER;
ALTER TABLE budget ADD COLUMN tight_tokens INTEGER;
DROP INDEX spend_unsure;
CREATE INDEX spend_unsure ON spend (budget_window, priced, estimated, cost_micros, input_tokens, output_tokens)
  WHERE priced IN ('default', 'unknown') OR estimated = 1;
`

"""Answers written from the hits, scored by a language model: faithfulness, relevancy, judged precision and recall.

A judge is an instrument that drifts. Asked twice it says two things; "correct" is wherever somebody put the pass mark;
what it could not score tends to vanish from the mean. So a judged run here carries what is needed to distrust it:

- the mean of every score with its interval, and **the count of "correct" at every pass mark** from 0 to 1, with the share
  of scores that lie within 0.1 of the mark in use: where that share is large, the count says more about the mark than
  about the system;
- **a control arm**: `compare_judged` takes two runs of one unchanged system and counts no difference below what those
  two differ by;
- **no gaps**: a question whose reply is malformed, cut off, late or scored NaN is FAILED, by name and reason, and so is
  the run. Its means are not reported, never taken over the rest.

Scores are ragas': ``faithfulness`` (share of the answer's statements that the hits support), ``answer_relevancy`` (cosine
of the question to three questions made back from the answer; 0 for an answer that commits to nothing),
``context_precision`` (average precision over the hits, judged useful or not) and ``context_recall`` (share of the
reference's sentences that the hits support).

Decisions, each of which moves figures:

- The reference of the last two is the golden line's ``why``: what the source says, in a sentence, written by whoever read
  it, before any system was run. The source of the labels would be judged by its own text, which recall by lines does
  already and without a judge; ``reference="source"`` is for golden files without a ``why``.
- Only questions with an answer are judged. To one without, the right answer is a refusal, which has nothing to be
  faithful to and scores 0 for relevancy: no mean could hold both.
- A question without a single hit scores 0 on everything, and nothing is asked: what finds nothing must not gain by it.
- Verdicts must be 0 or 1, and one for each statement: ragas would score a judge that leaves statements out on the rest.
  Replies must hold a whole JSON object: ragas would complete one that was cut off, and score what had arrived. What is not
  JSON is asked for again, as often as the endpoint's ``retries``; JSON of another shape ragas lets the model mend, three
  times; then the question is FAILED.
- Hits are data. The answer is asked for from texts between boundary lines that no text can contain; ragas hands texts over
  as JSON strings, and its instructions are extended by one sentence that says so. That lowers the chance that a comment
  in the corpus steers the judge. It does not exclude it.
- One model writes and judges, and models favour their own prose. Compare systems judged by one model; the level of a
  score means little.

Source: Es et al. (2024), "RAGAs: Automated Evaluation of Retrieval Augmented Generation", EACL; ragas 0.4.
"""

from rungs.measure.judged.comparison import JudgedComparison, compare_judged
from rungs.measure.judged.result import JUDGED, PASS_MARKS, JudgedRun, pass_marks
from rungs.measure.judged.run import judge_run

__all__ = ["JUDGED", "PASS_MARKS", "JudgedComparison", "JudgedRun", "compare_judged", "judge_run", "pass_marks"]

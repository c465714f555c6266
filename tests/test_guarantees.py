"""What stays guaranteed, and the tests that hold it: each goes red if its guard is taken out."""

import re

import pytest
from conftest import ROOT

GUARANTEES = {
    "a job that is found has the weights, tokenizer, text and settings that were asked for": """
        test_a_model_in_memory_is_found_only_if_nothing_of_it_was_changed
        test_weights_that_are_replaced_while_they_are_read test_sharded_weights
        test_a_peft_model_in_memory_is_its_base_model_with_the_adapter
        test_revision_of_a_folder_follows_its_content
        test_a_tokenizer_that_is_elsewhere test_an_adapter_is_put_on_its_base test_a_gguf_file
        test_jobs_that_differ_in_a_setting_live_side_by_side
        test_a_job_that_was_renamed_by_hand_is_not_another_one
        test_other_settings_and_another_text_are_measured_again
        test_a_prompted_corpus_is_another_job""",
    "weights that are missing, mismatched, unused, NaN or Inf are refused, and prompt adapters": """
        test_a_folder_with_a_fault_is_refused test_an_adapter_with_a_fault_is_refused
        test_a_peft_model_in_memory_is_its_base_model_with_the_adapter""",
    "so are a model that looks ahead and ids above V": """
        test_a_model_that_looks_ahead test_a_folder_with_a_fault_is_refused""",
    "logits of the head are the model's own in every dtype, with a cap or scale hard to see": """
        test_ranks_are_those_of_the_models_own_head test_any_other_head_is_left_to_the_model
        test_a_cap_is_found_in_logits_too_small_to_feel_it
        test_a_model_type_has_the_ranks_of_its_own_logits_and_the_S_of_its_layers""",
    "padding changes no rank": "test_a_model_whose_logits_padding_changes_gets_none",
    "S is that of the text decoder": """
        test_a_model_type_has_the_ranks_of_its_own_logits_and_the_S_of_its_layers
        test_S_of_a_captioner_is_that_of_its_text_model_alone
        test_S_of_git_leaves_out_the_tower_inside
        test_S_of_a_model_that_is_its_own_base_leaves_out_the_head""",
    "a hub id and a folder of one model give the same ids": """
        test_a_hub_id_has_the_ids_of_its_folder test_text_is_cut_as_tokenizer_json_says
        test_the_ends_of_a_text_are_those_that_the_folder_names""",
    "stride < max_length, no stride with prompts, special tokens survive a cut prompt": """
        test_with_a_stride_each_token_is_scored_once_in_the_first_window_that_predicts_it
        test_what_cannot_be_is_one_line
        test_the_border_is_that_of_the_text_and_not_of_the_tokens_of_the_prompt
        test_a_document_is_cut_as_the_tokenizer_itself_would""",
    "no NaN or Inf, no loss below ln R": """
        test_impossible_values test_nll_is_at_least_the_log_of_the_rank
        test_nan_in_a_forward_pass_leaves_nothing""",
    "models that are compared or fitted together scored the same tokens": """
        test_models_that_did_not_score_the_same_tokens_are_refused
        test_as_many_tokens_of_another_tokenizer_compare_in_bits_per_byte_alone
        test_what_does_not_compare_is_refused test_what_is_not_paired_is_refused""",
    "a pocket text that is not the one of the reference numbers is refused": """
        test_a_changed_text_is_refused_before_a_model_is_loaded
        test_documents_that_are_gone_or_changed_are_seen""",
    "a flipped bit anywhere in a record or summary is refused": """
        test_a_changed_file_is_refused_or_says_the_same
        test_a_summary_that_was_changed_is_refused""",
    "every finished job is seen by load_summaries": """
        test_a_summary_that_is_not_of_these_records_is_made_again
        test_a_summary_is_read_without_its_records""",
    "an absurd config is refused": "test_a_folder_with_a_fault_is_refused",
    "a model in memory leaves in the mode in which it came": """
        test_one_front_door""",
}


@pytest.fixture(scope="module")
def written() -> set[str]:
    """The tests that there are."""
    code = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    return set(re.findall(r"^def (test_\w+)", "\n".join(code), flags=re.MULTILINE))


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_guarantee_has_its_tests(guarantee, written):
    missing = set(GUARANTEES[guarantee].split()) - written
    assert not missing

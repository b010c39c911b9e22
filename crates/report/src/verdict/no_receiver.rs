//! Messages without a receiver, on channels without subscribers.

use workload::Plan;

/// The warning about channels without a subscriber. Keys without a receiver are refused with the plan.
pub(super) fn no_receiver(plan: &Plan) -> Option<String> {
    let own = plan.own_receivers().filter(|own| own.kind.replies_name_receivers())?;
    let reached = u64::from(own.receivers) * u64::from(own.places_each);
    let without = u64::from(own.places).checked_sub(reached).filter(|without| *without > 0)?;
    let (places, have) = (own.places, if without == 1 { "has" } else { "have" });
    Some(format!(
        "{without} of {places} channels {have} no subscriber, so messages to them reach nobody; use --channels \
         {reached} or more --subscribers"
    ))
}

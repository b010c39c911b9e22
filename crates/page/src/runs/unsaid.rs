//! What a plan has that no command line of keystorm's own says: front ends of other tools do.

use workload::{
    DrawnBy, Endpoint, KeyDist, KeySpace, Numbered, Pick, Plan, Reopening, RowBy, Share, SizeBy,
    Stop,
};

/// What the command line of a plan leaves out, a sentence each.
#[must_use]
pub fn unsaid(plan: &Plan) -> Vec<String> {
    let mut unsaid = Vec::new();
    if let Endpoint::Pool { servers } = &plan.target.endpoint {
        let count = servers.len();
        unsaid
            .push(format!("its connections are to {count} servers in turn, and to the first here"));
    }
    let several = plan.mix.as_ref().filter(|mix| mix.operations.len() > 1);
    if several.is_some_and(|mix| mix.pick != Pick::Drawn) {
        unsaid.push("its operations take turns, and are drawn by their weights here".to_owned());
    }
    if let (Share::PerConnection, Stop::Requests(each)) = (plan.share, plan.stop) {
        unsaid.push(format!("each of its connections sends {each} requests, to the last one"));
    }
    // Where a key is inserted, its command says so.
    let said = |keys: &&KeySpace| keys.draw != KeyDist::INSERT;
    let mut spaces = plan.key_spaces().map(|(_, keys)| keys).filter(said);
    let first = spaces.next();
    if spaces.any(|keys| Some(keys) != first) {
        unsaid.push("its operations take their keys in ways of their own".to_owned());
    }
    unsaid.extend(first.into_iter().flat_map(of_keys));
    let sized = plan.values.as_ref().map(|values| values.by);
    match sized {
        Some(SizeBy::Rank) => {
            unsaid.push("its values are the larger the larger the key".to_owned());
        }
        Some(SizeBy::Turn(_)) => unsaid.push("its sizes come in turns".to_owned()),
        Some(SizeBy::Key | SizeBy::Request) | None => {}
    }
    if plan.backoff.is_some() {
        unsaid.push("a lost connection waits in its own way before it is tried again".to_owned());
    }
    if plan.fleet.pipelines_each > 1 {
        unsaid.push("its connections are closed after several pipelines".to_owned());
    }
    if plan.reopening != Reopening::default() {
        unsaid.push("opening a lost connection again has limits of its own".to_owned());
    }
    match plan.dataset.as_ref().map(|dataset| dataset.by()) {
        Some(RowBy::Key) => unsaid.push("its rows are those of its keys".to_owned()),
        Some(RowBy::Turn) => {
            unsaid.push("each of its connections goes through all rows for itself".to_owned());
        }
        Some(RowBy::Request) | None => {}
    }
    unsaid
}

fn of_keys(keys: &KeySpace) -> impl Iterator<Item = String> {
    let Numbered { first, bare, by } = keys.numbered;
    let by = match by {
        DrawnBy::Request => None,
        DrawnBy::Connection => Some("all its connections draw the same keys"),
        DrawnBy::Operation => Some("each of its connections goes through all keys for itself"),
        DrawnBy::Slice => Some("each of its connections has a part of the keys for itself"),
    };
    let first = (first > 0).then(|| format!("its first key is number {first}, and 0 here"));
    let bare = bare.then(|| "its keys have no zeros before their numbers".to_owned());
    first.into_iter().chain(bare).chain(by.map(str::to_owned))
}

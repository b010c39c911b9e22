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
            .push(format!("its connections go to {count} servers in turn, here only to the first"));
    }
    if let Some(tls) = &plan.target.tls {
        if tls.key_password.is_some() {
            unsaid.push("its private key has a password".to_owned());
        }
        if let Some(file) = &tls.cert_chain {
            let file = file.display();
            unsaid.push(format!("the chain of its certificate is in another file, {file}"));
        }
    }
    let several = plan.mix.as_ref().filter(|mix| mix.operations.len() > 1);
    if several.is_some_and(|mix| mix.pick != Pick::Drawn) {
        unsaid.push("its operations take turns, here they are drawn by weight".to_owned());
    }
    if let (Share::PerConnection, Stop::Requests(each)) = (plan.share, plan.stop) {
        unsaid.push(format!("each connection sends exactly {each} requests"));
    }
    // Where a key is inserted, its command says so.
    let said = |keys: &&KeySpace| keys.draw != KeyDist::INSERT;
    let mut spaces = plan.key_spaces().map(|(_, keys)| keys).filter(said);
    let first = spaces.next();
    if spaces.any(|keys| Some(keys) != first) {
        unsaid.push("its operations draw their keys in different ways".to_owned());
    }
    unsaid.extend(first.into_iter().flat_map(of_keys));
    let sized = plan.values.as_ref().map(|values| values.by);
    match sized {
        Some(SizeBy::Rank) => {
            unsaid.push("its values grow with the key".to_owned());
        }
        Some(SizeBy::Turn(_)) => unsaid.push("its sizes take turns".to_owned()),
        Some(SizeBy::Key | SizeBy::Request) | None => {}
    }
    if plan.pace.schedule().is_some_and(|schedule| !schedule.is_limited()) {
        unsaid.push("its rate had no limit for a time, here it is 0".to_owned());
    }
    if plan.backoff.is_some() {
        unsaid.push("its lost connections wait differently before they are reopened".to_owned());
    }
    if plan.fleet.pipelines_each > 1 {
        unsaid.push("its connections are closed after several pipelines".to_owned());
    }
    if plan.fleet.renewed_per_s > 0 {
        let each_s = plan.fleet.renewed_per_s;
        unsaid.push(format!("{each_s} of its connections are closed and reopened each second"));
    }
    if plan.reopening != Reopening::default() {
        unsaid.push("opening a lost connection again has limits of its own".to_owned());
    }
    match plan.dataset.as_ref().map(|dataset| dataset.by()) {
        Some(RowBy::Key) => unsaid.push("its rows belong to its keys".to_owned()),
        Some(RowBy::Turn) => {
            unsaid.push("each connection goes through all rows by itself".to_owned());
        }
        Some(RowBy::Request) | None => {}
    }
    unsaid
}

fn of_keys(keys: &KeySpace) -> impl Iterator<Item = String> {
    let Numbered { first, bare, by } = keys.numbered;
    let by = match by {
        DrawnBy::Request => None,
        DrawnBy::Connection => Some("all connections draw the same keys"),
        DrawnBy::Operation => Some("each connection goes through all keys by itself"),
        DrawnBy::Slice => Some("each connection has its own part of the keys"),
    };
    let first = (first > 0).then(|| format!("its first key is number {first}, here 0"));
    let bare = bare.then(|| "its keys have no leading zeros".to_owned());
    first.into_iter().chain(bare).chain(by.map(str::to_owned))
}

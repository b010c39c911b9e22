use super::*;

#[test]
fn a_login_prints_without_its_password() {
    let login = Login { user: Some("u"), password: Some("hunter2"), db: 1, ..Login::default() };
    let text = format!("{login:?}");
    assert!(text.contains("\"u\"") && !text.contains("hunter2"), "{text}");
}

#[test]
fn settings_are_read_from_either_protocol() {
    let bulk = |text: &str| Value::Bulk(text.into());
    let resp2 = Value::Array(vec![bulk("save"), bulk("3600 1")]);
    let resp3 = Value::Map(vec![(bulk("save"), bulk("3600 1"))]);
    assert_eq!(setting(&resp2).as_deref(), Some("3600 1"));
    assert_eq!(setting(&resp3).as_deref(), Some("3600 1"));
    assert_eq!(setting(&Value::Array(vec![])), None);
}
